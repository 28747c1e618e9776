// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.cpu;

/**
 * SciMark 2's random numbers: a lagged Fibonacci generator, x[n] = x[n - 17] - x[n - 5] modulo 2^31
 * - 1, whose first 17 numbers come from a linear congruential one (multiplier 9069).
 */
final class ScimarkRandom {
  private static final int MODULUS = Integer.MAX_VALUE;
  private static final int LENGTH = 17;
  private static final int SHORT_LAG = 5;
  private static final int MULTIPLIER = 9069;

  private final int[] state = new int[LENGTH];
  private int oldest;

  ScimarkRandom(int seed) {
    long value = Math.min(Math.abs((long) seed), MODULUS);
    value -= (value + 1) % 2;
    // As the original: 31 bits of the product.
    for (int place = 0; place < LENGTH; place++) {
      value = value * MULTIPLIER & MODULUS;
      state[place] = (int) value;
    }
    oldest = LENGTH - 1;
  }

  /**
   * Returns a number from 0 to 1. Synchronized as in the original, where its locks are a good part
   * of what Monte Carlo measures.
   */
  synchronized double next() {
    int lagged = oldest - (LENGTH - SHORT_LAG);
    int next = state[lagged < 0 ? lagged + LENGTH : lagged] - state[oldest];
    if (next < 0) {
      next += MODULUS;
    }
    state[oldest] = next;
    oldest = oldest == 0 ? LENGTH - 1 : oldest - 1;
    return (1.0 / MODULUS) * next;
  }

  /** Returns so many numbers. */
  double[] vector(int length) {
    double[] numbers = new double[length];
    for (int place = 0; place < length; place++) {
      numbers[place] = next();
    }
    return numbers;
  }

  /** Returns a matrix of such numbers, filled by rows. */
  double[][] matrix(int rows, int columns) {
    double[][] numbers = new double[rows][];
    for (int row = 0; row < rows; row++) {
      numbers[row] = vector(columns);
    }
    return numbers;
  }
}
