// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.results;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import airbound.benchmark.cpu.Kernels;
import airbound.benchmark.measure.Settings;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ReportTest {
  private static final Doubt LOAD = new Doubt(Doubt.Code.OTHER_LOAD, 0.5, 0.1);

  private static Report report() {
    Report report =
        new Report(
            "2026-11-27T12:00:00Z",
            Map.of("processor", "<one>"),
            new Settings(2, 1, 3, 1000),
            30,
            10_000,
            0);
    Run run = new Run("jit", Kernels.benchmarks());
    run.result("cpu/sor").add(new Pass(new double[] {1, 2, 3}, List.of()));
    run.result("cpu/sor").add(new Pass(new double[] {4, 4, 4}, List.of(LOAD)));
    run.result("cpu/lu").fail("wrong");
    report.add(run);
    report.end();
    return report;
  }

  @Test
  void aReportIsReadAsItWasWritten() {
    Report read = Report.parse(report().json());
    assertEquals(report().json(), read.json());
    assertTrue(read.complete());
    assertEquals("<one>", read.machine().get("processor"));
    assertEquals(3, read.run("jit").result("cpu/sor").median());
    assertEquals("wrong", read.run("jit").result("cpu/lu").failed());
    assertFalse(read.run("jit").result("cpu/fft").measured());
    assertNull(read.run("c1"));
    assertNull(read.run("jit").result("cpu/none"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "[]", "{}", "{", "null", "7", "{\"runs\": 3}"})
  void whatIsNoReportIsRefused(String text) {
    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> Report.parse(text));
    assertTrue(error.getMessage().startsWith("no results"), error.getMessage());
  }

  @Test
  void anotherFormatIsRefused() {
    String other = report().json().replace("benchmark_format\": 1", "benchmark_format\": 2");
    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> Report.parse(other));
    assertTrue(error.getMessage().endsWith("it has the format 2"), error.getMessage());
  }

  /** A damaged file is refused, or what it still says can be used: nothing else happens. */
  @Test
  void aDamagedReportIsRefusedOrWhole() {
    Random random = new Random(1);
    String text = report().json();
    int refused = 0;
    for (int round = 0; round < 3000; round++) {
      int begin = random.nextInt(text.length());
      int end = Math.min(text.length(), begin + 1 + random.nextInt(40));
      String[] instead = {"", "null", "-1", "[]", "{}", "\"x\"", "NaN", "0"};
      String damaged = text.substring(0, begin) + instead[random.nextInt(8)] + text.substring(end);
      try {
        for (Run run : Report.parse(damaged).runs()) {
          for (Result result : run.results()) {
            if (result.measured()) {
              assertTrue(result.median() > 0);
              result.doubts().forEach(Doubt::text);
            }
          }
        }
      } catch (IllegalArgumentException error) {
        refused++;
      }
    }
    assertTrue(refused > 1000, refused + " refused");
  }

  private static Result result(double... medians) {
    Result result = new Result("x", "things/s");
    for (double median : medians) {
      result.add(new Pass(new double[] {median}, List.of()));
    }
    return result;
  }

  @Test
  void passesThatLieApartAreNoisy() {
    assertEquals(List.of(), result(100, 101, 102, 103, 104).doubts());
    assertEquals(List.of(), result(100, 100, 100, 100, 50).doubts());
    Doubt doubt = result(90, 95, 100, 105, 110).doubts().get(0);
    assertEquals(Doubt.Code.SPREAD, doubt.code);
    assertEquals(0.1, doubt.value, 1e-12);
  }

  @Test
  void fewerThanThreePassesSayNothingOfASpread() {
    assertEquals(Doubt.Code.PASSES, result(100, 100).doubts().get(0).code);
    assertEquals(List.of(), result(100, 100, 100).doubts());
  }

  @Test
  void whatMostPassesAreDoubtedForIsTheResultsDoubt() {
    Result result = new Result("x", "things/s");
    for (int pass = 0; pass < 5; pass++) {
      List<Doubt> doubts = pass < 2 ? List.of(LOAD) : List.of();
      result.add(new Pass(new double[] {10}, doubts));
    }
    assertEquals(List.of(), result.doubts());
    result.add(new Pass(new double[] {10}, List.of(LOAD)));
    result.add(new Pass(new double[] {10}, List.of(LOAD)));
    assertEquals(Doubt.Code.OTHER_LOAD, result.doubts().get(0).code);
  }

  @Test
  void aFailedBenchmarkHasNoFigure() {
    Result result = result(1, 2);
    result.fail("wrong");
    result.add(new Pass(new double[] {1}, List.of()));
    assertFalse(result.measured());
    assertEquals("wrong", result.failed());
    assertEquals(List.of(), result.doubts());
  }
}
