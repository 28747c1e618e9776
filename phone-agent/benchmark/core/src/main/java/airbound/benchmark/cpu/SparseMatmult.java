// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.cpu;

import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;

/** SciMark 2's product of a sparse matrix, in compressed rows, and a vector. */
final class SparseMatmult implements Workload {
  static final int ROWS = 1000;
  static final int NONZEROS = 5000;

  /** Sum of the product's elements; KernelsTest computes it with the original. */
  static final double EXPECTED_SUM = 1190.6472385985933;

  final double[] vector;
  final double[] values;
  final int[] rows = new int[ROWS + 1];
  final int[] columns = new int[NONZEROS];
  private final double[] product = new double[ROWS];

  SparseMatmult() {
    ScimarkRandom random = new ScimarkRandom(Kernels.SEED);
    vector = random.vector(ROWS);
    values = random.vector(NONZEROS);
    int perRow = NONZEROS / ROWS;
    // As in the original: the elements of row r lie r/5 apart, at least 1.
    for (int row = 0; row < ROWS; row++) {
      rows[row + 1] = rows[row] + perRow;
      int distance = Math.max(row / perRow, 1);
      for (int place = 0; place < perRow; place++) {
        columns[rows[row] + place] = place * distance;
      }
    }
  }

  /** Returns the operations of one product, as SciMark counts them. */
  static double flops() {
    return NONZEROS * 2.0;
  }

  @Override
  public void run(int repetitions) {
    multiply(product, values, rows, columns, vector, repetitions);
  }

  @Override
  public void check() throws WrongAnswerException {
    double sum = Kernels.sum(product);
    Kernels.require(
        sum == EXPECTED_SUM, "sparse product: its sum is %s, not %s", sum, EXPECTED_SUM);
  }

  /** Multiplies so many times. */
  static void multiply(
      double[] product,
      double[] values,
      int[] rows,
      int[] columns,
      double[] vector,
      int repetitions) {
    for (int repetition = 0; repetition < repetitions; repetition++) {
      for (int row = 0; row < product.length; row++) {
        double sum = 0;
        for (int place = rows[row]; place < rows[row + 1]; place++) {
          sum += vector[columns[place]] * values[place];
        }
        product[row] = sum;
      }
    }
  }
}
