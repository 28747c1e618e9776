// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.cpu;

import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;

/** SciMark 2's Monte Carlo integration: pi by random points in a quarter of a circle. */
final class MonteCarlo implements Workload {
  static final int SAMPLES = 10_000;
  static final int SEED = 113;

  /** Points within the circle; KernelsTest computes it with the original. */
  static final int EXPECTED_INSIDE = 7884;

  private int inside;

  /** Returns the operations of so many points, as SciMark counts them. */
  static double flops(int samples) {
    return samples * 4.0;
  }

  @Override
  public void run(int repetitions) throws WrongAnswerException {
    for (int repetition = 0; repetition < repetitions; repetition++) {
      inside = inside(SAMPLES);
      check();
    }
  }

  @Override
  public void check() throws WrongAnswerException {
    Kernels.require(
        inside == EXPECTED_INSIDE,
        "Monte Carlo: %d of %d points are in the circle, not %d",
        inside,
        SAMPLES,
        EXPECTED_INSIDE);
  }

  /** Returns how many of so many random points are in the circle. */
  static int inside(int samples) {
    ScimarkRandom random = new ScimarkRandom(SEED);
    int inside = 0;
    for (int sample = 0; sample < samples; sample++) {
      double x = random.next();
      double y = random.next();
      if (x * x + y * y <= 1.0) {
        inside++;
      }
    }
    return inside;
  }
}
