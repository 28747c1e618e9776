// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.cpu;

import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;

/** SciMark 2's factorization of a dense matrix into L and U, with partial pivoting, by rows. */
final class Lu implements Workload {
  static final int SIZE = 100;
  private static final double RESIDUAL_MAX = 1e-12;

  private final double[][] original;
  private final double[][] factors;
  private final int[] pivots = new int[SIZE];

  Lu() {
    original = new ScimarkRandom(Kernels.SEED).matrix(SIZE, SIZE);
    factors = Kernels.copy(original);
  }

  /** Returns the operations of one factorization, as SciMark counts them. */
  static double flops(int size) {
    return 2.0 * size * size * size / 3.0;
  }

  @Override
  public void run(int repetitions) throws WrongAnswerException {
    for (int repetition = 0; repetition < repetitions; repetition++) {
      for (int row = 0; row < SIZE; row++) {
        System.arraycopy(original[row], 0, factors[row], 0, SIZE);
      }
      factor(factors, pivots);
    }
  }

  /** L times U is the matrix with its rows exchanged. */
  @Override
  public void check() throws WrongAnswerException {
    double[][] exchanged = Kernels.copy(original);
    for (int row = 0; row < SIZE; row++) {
      exchange(exchanged, row, pivots[row]);
    }
    double worst = 0;
    for (int row = 0; row < SIZE; row++) {
      for (int column = 0; column < SIZE; column++) {
        double product = row <= column ? factors[row][column] : 0;
        for (int inner = 0; inner < Math.min(row, column + 1); inner++) {
          product += factors[row][inner] * factors[inner][column];
        }
        worst = Math.max(worst, Math.abs(product - exchanged[row][column]));
      }
    }
    Kernels.require(worst <= RESIDUAL_MAX, "LU: the product differs by %g", worst);
  }

  /**
   * Factors a square matrix in place.
   *
   * @param matrix afterwards L below the diagonal (its own diagonal is 1) and U above it
   * @param pivots afterwards for each row the one that it was exchanged with
   * @throws WrongAnswerException the matrix is singular
   */
  static void factor(double[][] matrix, int[] pivots) throws WrongAnswerException {
    int size = matrix.length;
    for (int step = 0; step < size; step++) {
      int pivot = step;
      for (int row = step + 1; row < size; row++) {
        if (Math.abs(matrix[row][step]) > Math.abs(matrix[pivot][step])) {
          pivot = row;
        }
      }
      pivots[step] = pivot;
      exchange(matrix, step, pivot);
      if (matrix[step][step] == 0) {
        throw new WrongAnswerException("LU: the matrix is singular");
      }
      double reciprocal = 1.0 / matrix[step][step];
      double[] upper = matrix[step];
      for (int row = step + 1; row < size; row++) {
        double[] lower = matrix[row];
        double factor = lower[step] * reciprocal;
        lower[step] = factor;
        for (int column = step + 1; column < size; column++) {
          lower[column] -= factor * upper[column];
        }
      }
    }
  }

  private static void exchange(double[][] matrix, int left, int right) {
    double[] kept = matrix[left];
    matrix[left] = matrix[right];
    matrix[right] = kept;
  }
}
