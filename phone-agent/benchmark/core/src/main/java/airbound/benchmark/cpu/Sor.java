// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.cpu;

import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;

/** SciMark 2's successive over-relaxation of a grid, in place. */
final class Sor implements Workload {
  static final int SIZE = 100;
  static final double OMEGA = 1.25;
  static final int CHECKED_SWEEPS = 50;

  /** Sum of the grid after the checked sweeps; KernelsTest computes it with the original. */
  static final double EXPECTED_SUM = 5066.286407259363;

  final double[][] original;
  private final double[][] grid;

  Sor() {
    original = new ScimarkRandom(Kernels.SEED).matrix(SIZE, SIZE);
    grid = Kernels.copy(original);
  }

  /** Returns the operations of one sweep, as SciMark counts them. */
  static double flops(int size) {
    return (size - 1.0) * (size - 1.0) * 6;
  }

  @Override
  public void run(int repetitions) {
    sweep(grid, OMEGA, repetitions);
  }

  @Override
  public void check() throws WrongAnswerException {
    double[][] checked = Kernels.copy(original);
    sweep(checked, OMEGA, CHECKED_SWEEPS);
    double sum = Kernels.sum(checked);
    Kernels.require(sum == EXPECTED_SUM, "SOR: the grid's sum is %s, not %s", sum, EXPECTED_SUM);
  }

  /** Relaxes the inner points of a grid so many times. */
  static void sweep(double[][] grid, double omega, int sweeps) {
    double quarter = omega * 0.25;
    double rest = 1.0 - omega;
    int last = grid.length - 1;
    int lastColumn = grid[0].length - 1;
    for (int sweep = 0; sweep < sweeps; sweep++) {
      for (int row = 1; row < last; row++) {
        double[] above = grid[row - 1];
        double[] here = grid[row];
        double[] below = grid[row + 1];
        for (int column = 1; column < lastColumn; column++) {
          here[column] =
              quarter * (above[column] + below[column] + here[column - 1] + here[column + 1])
                  + rest * here[column];
        }
      }
    }
  }
}
