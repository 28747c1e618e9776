// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.measure;

/**
 * How long and how often is measured. A pass measures each benchmark once, in several rounds; the
 * passes lie minutes apart, so that a machine that is slow for a while differs from itself.
 */
public final class Settings {
  public final int passes;
  public final int warmupRounds;
  public final int rounds;
  public final long roundNs;

  /**
   * Settings of a run.
   *
   * @param passes at least 1
   * @param warmupRounds rounds that are not counted, at the beginning of each pass; 0 or more
   * @param rounds rounds that count, of each pass; at least 1
   * @param roundNs how long a round lasts at least; above 0
   * @throws IllegalArgumentException a value is out of its range
   */
  public Settings(int passes, int warmupRounds, int rounds, long roundNs) {
    if (passes < 1 || warmupRounds < 0 || rounds < 1 || roundNs < 1) {
      throw new IllegalArgumentException(
          "a run has at least one pass, one round and one nanosecond a round");
    }
    this.passes = passes;
    this.warmupRounds = warmupRounds;
    this.rounds = rounds;
    this.roundNs = roundNs;
  }
}
