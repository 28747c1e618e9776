// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.results;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import airbound.benchmark.cpu.Kernels;
import airbound.benchmark.machine.Reading;
import airbound.benchmark.machine.Watch;
import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Clock;
import airbound.benchmark.measure.Rounds;
import airbound.benchmark.measure.Settings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class InProcessTest {
  private static final Rounds SHORT = new Rounds(new Settings(1, 0, 1, 1000), Clock.SYSTEM, 1);
  private int opened;

  private List<Benchmark> plan() {
    List<Benchmark> plan = new ArrayList<>(Kernels.benchmarks());
    plan.add(
        1,
        new Benchmark(
            "cpu/broken",
            "Mflop/s",
            1,
            () -> {
              opened++;
              throw new IOException("no disk");
            }));
    return plan;
  }

  private static Watch watch() {
    return new Watch(() -> new Reading.Builder(System.nanoTime()).build());
  }

  @Test
  void aBenchmarkThatFailsIsNotRepeatedAndTheOthersAre() throws IOException {
    List<Benchmark> plan = plan();
    Run run = new Run("art", plan);
    int[] changes = {0};
    try (Watch watch = watch()) {
      new InProcess(plan, SHORT, watch).run(run, 3, () -> changes[0]++);
    }
    assertEquals("no disk", run.result("cpu/broken").failed());
    assertEquals(1, opened);
    assertEquals(3, run.result("cpu/lu").passes().size());
    assertEquals(3 * 6 + 1, changes[0]);
  }

  @Test
  void whatCannotBeKeptEndsIt() {
    List<Benchmark> plan = plan();
    Run run = new Run("art", plan);
    try (Watch watch = watch()) {
      InProcess measuring = new InProcess(plan, SHORT, watch);
      InProcess.Sink full =
          () -> {
            throw new IOException("disk full");
          };
      assertThrows(IOException.class, () -> measuring.run(run, 3, full));
    }
    assertEquals(0, opened);
  }

  @Test
  void anInterruptedThreadMeasuresNoMore() throws IOException {
    List<Benchmark> plan = plan();
    Run run = new Run("art", plan);
    try (Watch watch = watch()) {
      new InProcess(plan, SHORT, watch).run(run, 1000, () -> Thread.currentThread().interrupt());
    }
    assertTrue(Thread.interrupted());
    assertTrue(run.result("cpu/linpack").measured());
    assertEquals(0, opened);
  }
}
