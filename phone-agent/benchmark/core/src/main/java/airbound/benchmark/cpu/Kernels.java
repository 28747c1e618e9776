// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.cpu;

import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.WrongAnswerException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/** The kernels that measure a processor: Linpack and the five of SciMark 2, with its sizes. */
public final class Kernels {
  /** SciMark's. */
  static final int SEED = 101010;

  private Kernels() {}

  /** Returns the benchmarks, in the order of the paper's Fig 1 and of SciMark. */
  public static List<Benchmark> benchmarks() {
    return Collections.unmodifiableList(
        new ArrayList<>(
            Arrays.asList(
                kernel("linpack", Linpack.flops(Linpack.SIZE), Linpack::new),
                kernel("fft", Fft.flops(Fft.LENGTH), Fft::new),
                kernel("sor", Sor.flops(Sor.SIZE), Sor::new),
                kernel("monte-carlo", MonteCarlo.flops(MonteCarlo.SAMPLES), MonteCarlo::new),
                kernel("sparse", SparseMatmult.flops(), SparseMatmult::new),
                kernel("lu", Lu.flops(Lu.SIZE), Lu::new))));
  }

  private static Benchmark kernel(String name, double flops, Benchmark.Opener opener) {
    return new Benchmark("cpu/" + name, "Mflop/s", flops / 1e6, opener);
  }

  static void require(boolean right, String message, Object... values) throws WrongAnswerException {
    if (!right) {
      throw new WrongAnswerException(String.format(Locale.ROOT, message, values));
    }
  }

  static double[][] copy(double[][] matrix) {
    double[][] copied = new double[matrix.length][];
    for (int row = 0; row < matrix.length; row++) {
      copied[row] = matrix[row].clone();
    }
    return copied;
  }

  static double sum(double[]... rows) {
    double sum = 0;
    for (double[] row : rows) {
      for (double element : row) {
        sum += element;
      }
    }
    return sum;
  }
}
