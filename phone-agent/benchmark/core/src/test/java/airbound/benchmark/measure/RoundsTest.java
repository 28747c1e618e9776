// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.measure;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class RoundsTest {
  private static final long MS_NS = 1_000_000;
  private final FakeClock clock = new FakeClock(1);
  private final List<Integer> runs = new ArrayList<>();
  private int opened;
  private int closed;

  /** A workload that takes so long for each repetition, and fails at some run. */
  private Benchmark benchmark(long repetitionNs, int fixedRepetitions, int failsAtRun) {
    return new Benchmark(
        "x",
        "things/s",
        3,
        fixedRepetitions,
        () -> {
          opened++;
          return new Workload() {
            @Override
            public void run(int repetitions) {
              runs.add(repetitions);
              clock.ns += repetitions * repetitionNs;
            }

            @Override
            public void check() throws IOException {
              if (runs.size() == failsAtRun) {
                throw new WrongAnswerException("wrong");
              }
            }

            @Override
            public void close() {
              closed++;
            }
          };
        });
  }

  private Rounds rounds(int warmupRounds, int rounds, long roundNs) {
    return new Rounds(new Settings(1, warmupRounds, rounds, roundNs), clock, 1);
  }

  @Test
  void aRoundLastsAsLongAsItShall() throws IOException {
    double[] rates = rounds(2, 4, 10 * MS_NS).measure(benchmark(1000, 0, -1));
    assertArrayEquals(new double[] {3e6, 3e6, 3e6, 3e6}, rates, 1e-3);
    assertEquals(List.of(10_000, 10_000, 10_000, 10_000, 10_000, 10_000), last(6));
    assertEquals(1, opened);
    assertEquals(1, closed);
  }

  @Test
  void aRepetitionLongerThanARoundRunsOnce() throws IOException {
    double[] rates = rounds(0, 2, MS_NS).measure(benchmark(500 * MS_NS, 0, -1));
    assertArrayEquals(new double[] {6, 6}, rates, 1e-9);
  }

  @Test
  void aCoarseClockMakesRoundsLonger() throws IOException {
    long resolutionNs = 10 * MS_NS;
    Rounds rounds = new Rounds(new Settings(1, 0, 1, MS_NS), clock, resolutionNs);
    rounds.measure(benchmark(MS_NS, 0, -1));
    assertEquals(Rounds.RESOLUTIONS * 10, runs.get(runs.size() - 1));
  }

  @Test
  void aWrongAnswerIsNoFigure() {
    for (int run = 1; run < 12; run++) {
      runs.clear();
      Benchmark wrong = benchmark(1000, 0, run);
      Rounds rounds = rounds(2, 4, 10 * MS_NS);
      assertThrows(WrongAnswerException.class, () -> rounds.measure(wrong));
      assertEquals(opened, closed);
    }
  }

  @Test
  void aFixedBenchmarkThatTakesLongRunsOnce() throws IOException {
    double[] rates = rounds(2, 4, MS_NS).measure(benchmark(MS_NS, 100, -1));
    assertArrayEquals(new double[] {3000}, rates, 1e-9);
    assertEquals(List.of(100), runs);
  }

  @Test
  void aFixedBenchmarkThatIsShortWarmsUpAndOpensEachTime() throws IOException {
    double[] rates = rounds(2, 4, MS_NS).measure(benchmark(10, 100, -1));
    assertEquals(4, rates.length);
    assertEquals(6, opened);
    assertEquals(6, closed);
  }

  @Test
  void theResolutionIsTheSmallestStep() {
    FakeClock clock = new FakeClock(1000);
    Clock moving =
        () -> {
          clock.ns += 30;
          return clock.nowNs();
        };
    assertEquals(1000, Clock.resolutionNs(moving));
    assertTrue(Clock.resolutionNs(Clock.SYSTEM) > 0);
  }

  @Test
  void settingsOutOfRangeAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> new Settings(0, 0, 1, 1));
    assertThrows(IllegalArgumentException.class, () -> new Settings(1, -1, 1, 1));
    assertThrows(IllegalArgumentException.class, () -> new Settings(1, 0, 0, 1));
    assertThrows(IllegalArgumentException.class, () -> new Settings(1, 0, 1, 0));
  }

  private List<Integer> last(int count) {
    return runs.subList(runs.size() - count, runs.size());
  }
}
