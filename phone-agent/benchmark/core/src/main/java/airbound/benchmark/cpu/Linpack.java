// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.cpu;

import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;

/**
 * Linpack: solves a dense system, by columns, with partial pivoting. Matrix, operations and the
 * test of the answer are those of Dongarra's program; the matrix is small enough for a phone of
 * 2010.
 */
final class Linpack implements Workload {
  static final int SIZE = 200;

  /** An answer is right if its normalized residual is a small number: Dongarra's is below 10. */
  private static final double RESIDUAL_MAX = 10;

  private static final double EPSILON = Math.ulp(1.0);

  private final double[][] original = matrix(SIZE);
  private final double[] originalRight = rowSums(original);
  private final double[][] columns = new double[SIZE][SIZE];
  private final double[] right = new double[SIZE];
  private final int[] pivots = new int[SIZE];

  /** Returns the operations of a solution, as Linpack counts them. */
  static double flops(int size) {
    return 2.0 * size * size * size / 3.0 + 2.0 * size * size;
  }

  @Override
  public void run(int repetitions) throws WrongAnswerException {
    for (int repetition = 0; repetition < repetitions; repetition++) {
      for (int column = 0; column < SIZE; column++) {
        System.arraycopy(original[column], 0, columns[column], 0, SIZE);
      }
      System.arraycopy(originalRight, 0, right, 0, SIZE);
      factor(columns, pivots);
      solve(columns, pivots, right);
    }
  }

  /** All unknowns are 1, since the right side is the sum of each row. */
  @Override
  public void check() throws WrongAnswerException {
    double residual = normalizedResidual(original, originalRight, right);
    Kernels.require(residual < RESIDUAL_MAX, "Linpack: the normalized residual is %g", residual);
  }

  /** Returns the matrix of Dongarra's program, as columns: numbers from -2 to 2. */
  static double[][] matrix(int size) {
    double[][] columns = new double[size][size];
    int seed = 1325;
    for (int column = 0; column < size; column++) {
      for (int row = 0; row < size; row++) {
        seed = 3125 * seed % 65536;
        columns[column][row] = (seed - 32768.0) / 16384.0;
      }
    }
    return columns;
  }

  static double[] rowSums(double[][] columns) {
    double[] sums = new double[columns.length];
    for (double[] column : columns) {
      add(sums, 1.0, column, 0);
    }
    return sums;
  }

  /** Factors in place (dgefa). */
  static void factor(double[][] columns, int[] pivots) throws WrongAnswerException {
    int size = columns.length;
    for (int step = 0; step < size; step++) {
      double[] pivotColumn = columns[step];
      int pivot = step;
      for (int row = step + 1; row < size; row++) {
        if (Math.abs(pivotColumn[row]) > Math.abs(pivotColumn[pivot])) {
          pivot = row;
        }
      }
      pivots[step] = pivot;
      swap(pivotColumn, step, pivot);
      if (pivotColumn[step] == 0) {
        throw new WrongAnswerException("Linpack: the matrix is singular");
      }
      double scale = -1.0 / pivotColumn[step];
      for (int row = step + 1; row < size; row++) {
        pivotColumn[row] *= scale;
      }
      for (int column = step + 1; column < size; column++) {
        swap(columns[column], step, pivot);
        add(columns[column], columns[column][step], pivotColumn, step + 1);
      }
    }
  }

  /** Solves by what {@link #factor} made of a matrix (dgesl); the right side becomes the answer. */
  static void solve(double[][] columns, int[] pivots, double[] right) {
    int size = columns.length;
    for (int step = 0; step < size; step++) {
      swap(right, step, pivots[step]);
      add(right, right[step], columns[step], step + 1);
    }
    for (int step = size - 1; step >= 0; step--) {
      right[step] /= columns[step][step];
      double factor = -right[step];
      for (int row = 0; row < step; row++) {
        right[row] += factor * columns[step][row];
      }
    }
  }

  /** Returns max |A x - b| / (n max |A| max |x| eps), as Dongarra's program. */
  static double normalizedResidual(double[][] columns, double[] right, double[] answer) {
    int size = columns.length;
    double[] residual = new double[size];
    double largest = 0;
    double largestAnswer = 0;
    for (int column = 0; column < size; column++) {
      add(residual, answer[column], columns[column], 0);
      largestAnswer = Math.max(largestAnswer, Math.abs(answer[column]));
      for (double element : columns[column]) {
        largest = Math.max(largest, Math.abs(element));
      }
    }
    double worst = 0;
    for (int row = 0; row < size; row++) {
      // Not Math.max: a NaN must stay one.
      double error = Math.abs(residual[row] - right[row]);
      worst = error <= worst ? worst : error;
    }
    return worst / (size * largest * largestAnswer * EPSILON);
  }

  /** Adds a multiple of a column to another, from a row on (daxpy). */
  private static void add(double[] sum, double factor, double[] column, int from) {
    for (int row = from; row < sum.length; row++) {
      sum[row] += factor * column[row];
    }
  }

  private static void swap(double[] numbers, int left, int right) {
    double kept = numbers[left];
    numbers[left] = numbers[right];
    numbers[right] = kept;
  }
}
