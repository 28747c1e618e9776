// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.measure;

/** A clock that never goes back. */
public interface Clock {
  /** The clock of this machine. */
  Clock SYSTEM = System::nanoTime;

  /** How many steps are looked at for the resolution. */
  int STEPS = 200;

  /** Returns nanoseconds since some moment. */
  long nowNs();

  /** Returns the smallest step that was seen of a clock, in ns: its resolution. */
  static long resolutionNs(Clock clock) {
    long smallestNs = Long.MAX_VALUE;
    for (int step = 0; step < STEPS; step++) {
      long beganNs = clock.nowNs();
      long nowNs = beganNs;
      while (nowNs == beganNs) {
        nowNs = clock.nowNs();
      }
      smallestNs = Math.min(smallestNs, nowNs - beganNs);
    }
    return smallestNs;
  }
}
