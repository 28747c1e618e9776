// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.measure;

import java.io.IOException;

/** One benchmark: its name, its unit, and how to begin it. */
public final class Benchmark {
  /** Begins a benchmark. */
  public interface Opener {
    /**
     * Returns the workload, ready to run.
     *
     * @throws IOException the benchmark cannot be carried out here
     */
    Workload open() throws IOException;
  }

  /** The name in results, {@code group/kind}: {@code cpu/sor}. */
  public final String id;

  /** What is counted, for each second: {@code Mflop/s}. */
  public final String unit;

  /** How many of these units one repetition is, in {@code unit} times seconds. */
  public final double workPerRepetition;

  /**
   * How many repetitions a round has, each round with a workload of its own; 0: as many as fill a
   * round.
   */
  public final int fixedRepetitions;

  private final Opener opener;

  /** A benchmark whose rounds last as long as the settings say. */
  public Benchmark(String id, String unit, double workPerRepetition, Opener opener) {
    this(id, unit, workPerRepetition, 0, opener);
  }

  /** A benchmark whose rounds are so many repetitions each; 0 as the other constructor. */
  public Benchmark(
      String id, String unit, double workPerRepetition, int fixedRepetitions, Opener opener) {
    this.id = id;
    this.unit = unit;
    this.workPerRepetition = workPerRepetition;
    this.fixedRepetitions = fixedRepetitions;
    this.opener = opener;
  }

  /** As {@link Opener#open}. */
  public Workload open() throws IOException {
    return opener.open();
  }
}
