// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import jnt.scimark2.FFT;
import jnt.scimark2.LU;
import jnt.scimark2.SOR;
import jnt.scimark2.SparseCompRow;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The kernels beside SciMark 2.0 itself, and their checks with wrong answers. */
final class KernelsTest {
  private static jnt.scimark2.Random originalRandom(int seed) {
    return new jnt.scimark2.Random(seed);
  }

  static IntStream seeds() {
    return new Random(1).ints(20, 0, Integer.MAX_VALUE);
  }

  static List<Benchmark> kernels() {
    return Kernels.benchmarks();
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void randomNumbersAreTheOriginals(int seed) {
    ScimarkRandom random = new ScimarkRandom(seed);
    jnt.scimark2.Random original = originalRandom(seed);
    for (int place = 0; place < 1000; place++) {
      assertEquals(original.nextDouble(), random.next(), 0.0);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 10, 100})
  void sorIsTheOriginals(int size) {
    double[][] grid = new ScimarkRandom(7).matrix(size, size);
    double[][] original = Kernels.copy(grid);
    Sor.sweep(grid, Sor.OMEGA, 9);
    SOR.execute(Sor.OMEGA, original, 9);
    for (int row = 0; row < size; row++) {
      assertArrayEquals(original[row], grid[row], 0.0);
    }
    assertEquals(SOR.num_flops(size, size, 1), Sor.flops(size), 0.0);
  }

  @Test
  void sorsExpectedSumIsTheOriginals() {
    double[][] grid = new double[Sor.SIZE][Sor.SIZE];
    jnt.scimark2.Random random = originalRandom(Kernels.SEED);
    for (double[] row : grid) {
      for (int column = 0; column < row.length; column++) {
        row[column] = random.nextDouble();
      }
    }
    SOR.execute(Sor.OMEGA, grid, Sor.CHECKED_SWEEPS);
    assertEquals(Kernels.sum(grid), Sor.EXPECTED_SUM, 0.0);
  }

  @Test
  void monteCarlosCountIsTheOriginals() {
    double quarter = jnt.scimark2.MonteCarlo.integrate(MonteCarlo.SAMPLES) / 4;
    assertEquals(quarter * MonteCarlo.SAMPLES, MonteCarlo.EXPECTED_INSIDE, 1e-9);
    assertEquals(
        jnt.scimark2.MonteCarlo.num_flops(MonteCarlo.SAMPLES),
        MonteCarlo.flops(MonteCarlo.SAMPLES),
        0.0);
  }

  @Test
  void theSparseProductIsTheOriginals() {
    SparseMatmult kernel = new SparseMatmult();
    double[] product = new double[SparseMatmult.ROWS];
    SparseCompRow.matmult(product, kernel.values, kernel.rows, kernel.columns, kernel.vector, 1);
    assertEquals(Kernels.sum(product), SparseMatmult.EXPECTED_SUM, 0.0);
    double[] ours = new double[SparseMatmult.ROWS];
    SparseMatmult.multiply(ours, kernel.values, kernel.rows, kernel.columns, kernel.vector, 3);
    assertArrayEquals(product, ours, 0.0);
    double flops = SparseCompRow.num_flops(SparseMatmult.ROWS, SparseMatmult.NONZEROS, 1);
    assertEquals(flops, SparseMatmult.flops(), 0.0);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5, 100})
  void luIsTheOriginals(int size) throws IOException {
    double[][] matrix = new ScimarkRandom(9).matrix(size, size);
    double[][] original = Kernels.copy(matrix);
    int[] pivots = new int[size];
    int[] originalPivots = new int[size];
    Lu.factor(matrix, pivots);
    LU.factor(original, originalPivots);
    assertArrayEquals(originalPivots, pivots);
    for (int row = 0; row < size; row++) {
      assertArrayEquals(original[row], matrix[row], 1e-15);
    }
    assertEquals(LU.num_flops(size), Lu.flops(size), 0.0);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 256, 1024})
  void fftIsTheOriginals(int length) {
    double[] data = new ScimarkRandom(3).vector(2 * length);
    double[] original = data.clone();
    Fft.transform(data);
    FFT.transform(original);
    assertArrayEquals(original, data, 1e-10);
    Fft.inverse(data);
    FFT.inverse(original);
    assertArrayEquals(original, data, 1e-10);
    assertEquals(2 * FFT.num_flops(length), Fft.flops(length), 0.0);
  }

  @Test
  void linpackSolvesASystemWhoseAnswerIsKnown() throws IOException {
    int size = 50;
    double[][] columns = Linpack.matrix(size);
    double[] answer = new Random(4).doubles(size, -3, 3).toArray();
    double[] right = new double[size];
    for (int column = 0; column < size; column++) {
      for (int row = 0; row < size; row++) {
        right[row] += columns[column][row] * answer[column];
      }
    }
    int[] pivots = new int[size];
    double[] found = right.clone();
    double[][] factored = Kernels.copy(columns);
    Linpack.factor(factored, pivots);
    Linpack.solve(factored, pivots, found);
    assertArrayEquals(answer, found, 1e-10);
    assertTrue(Linpack.normalizedResidual(columns, right, found) < 10);
    found[7] += 1e-9;
    assertTrue(Linpack.normalizedResidual(columns, right, found) > 10);
  }

  @Test
  void aSingularMatrixIsAWrongAnswer() {
    assertThrows(WrongAnswerException.class, () -> Lu.factor(new double[3][3], new int[3]));
    assertThrows(WrongAnswerException.class, () -> Linpack.factor(new double[3][3], new int[3]));
  }

  @ParameterizedTest
  @MethodSource("kernels")
  void whatIsMeasuredPassesItsCheck(Benchmark benchmark) throws IOException {
    try (Workload workload = benchmark.open()) {
      for (int repetitions = 1; repetitions < 20; repetitions += 6) {
        workload.run(repetitions);
        workload.check();
      }
    }
    assertEquals("Mflop/s", benchmark.unit);
    assertTrue(benchmark.workPerRepetition > 0);
  }

  /** A kernel that has not run has no answer yet. SOR and FFT compute what they check. */
  @Test
  void anAnswerThatIsMissingIsWrong() {
    List<Workload> idle = new ArrayList<>();
    idle.add(new Linpack());
    idle.add(new MonteCarlo());
    idle.add(new SparseMatmult());
    idle.add(new Lu());
    for (Workload workload : idle) {
      assertThrows(WrongAnswerException.class, workload::check, workload.getClass().getName());
    }
  }

  @Test
  void aChangedAnswerOfTheFftIsWrong() {
    Fft kernel = new Fft();
    kernel.run(3);
    kernel.data[11] += 1e-6;
    assertThrows(WrongAnswerException.class, kernel::check);
  }

  @Test
  void aChangedGridOfSorIsWrong() {
    Sor kernel = new Sor();
    kernel.run(3);
    kernel.original[11][12] += 1e-6;
    assertThrows(WrongAnswerException.class, kernel::check);
  }
}
