// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import airbound.benchmark.cpu.Kernels;
import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Settings;
import java.io.IOException;
import org.junit.jupiter.api.Test;

final class JmhTest {
  private static final Settings SHORT = new Settings(1, 1, 3, 10_000_000);

  @Test
  void eachRoundHasARate() throws IOException {
    Benchmark sor = Kernels.benchmarks().get(2);
    assertEquals("cpu/sor", sor.id);
    double[] rates = Jmh.measure(sor, Mode.INTERPRETER, SHORT);
    assertEquals(3, rates.length);
    for (double rate : rates) {
      assertTrue(rate > 0);
    }
  }

  /** What a kernel throws in JMH's virtual machine is the reason here. */
  @Test
  void theReasonOfAFailureIsTheKernels() {
    Benchmark none = new Benchmark("cpu/none", "Mflop/s", 1, () -> null);
    IOException error = assertThrows(IOException.class, () -> Jmh.measure(none, Mode.JIT, SHORT));
    assertEquals("no such kernel: cpu/none", error.getMessage());
  }
}
