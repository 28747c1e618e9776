// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import airbound.benchmark.cpu.Kernels;
import airbound.benchmark.measure.Settings;
import airbound.benchmark.results.Doubt;
import airbound.benchmark.results.Pass;
import airbound.benchmark.results.Report;
import airbound.benchmark.results.Run;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;

/** Comparisons, tables and pages of reports. */
final class ComparisonTest {
  static Report report(double sor, double lu, Doubt... doubts) {
    Report report =
        new Report(
            "2026-11-27T12:00:00Z",
            Map.of("processor", "a <b> & \"c\""),
            new Settings(3, 1, 1, 1000),
            30,
            10_000,
            0);
    for (Mode mode : Mode.values()) {
      Run run = new Run(mode.title(), Kernels.benchmarks());
      double factor = mode == Mode.INTERPRETER ? 0.25 : 1;
      for (int pass = 0; pass < 3; pass++) {
        run.result("cpu/sor").add(new Pass(new double[] {sor * factor}, List.of(doubts)));
        run.result("cpu/lu").add(new Pass(new double[] {lu * factor}, List.of()));
      }
      run.result("cpu/fft").fail("FFT: <wrong>");
      report.add(run);
    }
    report.end();
    return report;
  }

  private static Comparison.Row row(Comparison comparison, String id) {
    return comparison.rows().stream().filter(one -> one.id().equals(id)).findFirst().get();
  }

  @Test
  void calmResultsAreCompared() {
    Comparison comparison = new Comparison(report(100, 200), report(104, 150));
    assertEquals(Comparison.Verdict.EQUAL, row(comparison, "cpu/sor").verdict());
    assertEquals(0.04, row(comparison, "cpu/sor").change(), 1e-12);
    assertEquals(Comparison.Verdict.DIFFERENT, row(comparison, "cpu/lu").verdict());
    assertEquals(-0.25, row(comparison, "cpu/lu").change(), 1e-12);
    assertTrue(comparison.text().contains("-25.0 %  different"), comparison.text());
  }

  @Test
  void noisyResultsAreRefused() {
    Doubt load = new Doubt(Doubt.Code.OTHER_LOAD, 0.5, 0.15);
    Comparison first = new Comparison(report(100, 200, load), report(100, 200));
    assertEquals(Comparison.Verdict.REFUSED, row(first, "cpu/sor").verdict());
    assertEquals(
        "the first was noisy: other programs used 0.50 processors (limit 0.15)",
        row(first, "cpu/sor").why());
    Comparison second = new Comparison(report(100, 200), report(100, 200, load));
    assertTrue(row(second, "cpu/sor").why().startsWith("the second was noisy"));
    assertEquals(Comparison.Verdict.EQUAL, row(second, "cpu/lu").verdict());
    assertFalse(second.whole());
  }

  @Test
  void whatFailedIsRefused() {
    Comparison comparison = new Comparison(report(1, 1), report(1, 1));
    assertEquals(Comparison.Verdict.REFUSED, row(comparison, "cpu/fft").verdict());
    assertEquals("one of the two has no result", row(comparison, "cpu/fft").why());
  }

  @Test
  void aTableNamesFailuresAndDoubts() {
    String table = Table.text(report(100, 200, new Doubt(Doubt.Code.STOLEN, 0.5, 0.05)));
    assertTrue(table.contains("FAILED: FFT: <wrong>"), table);
    assertTrue(table.contains("noisy: the hypervisor took 0.50 processors"), table);
    assertTrue(table.contains("not run"), table);
  }

  /** The page is well-formed XML as well, so that a parser shows what is in it. */
  @Test
  void aPageShowsBothSidesOfTheAnalogyAndTable2() throws Exception {
    String html = Page.html(report(100, 200));
    Document page =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(
                new ByteArrayInputStream(
                    html.substring(html.indexOf('\n') + 1).getBytes(StandardCharsets.UTF_8)));
    String text = page.getDocumentElement().getTextContent();
    assertTrue(text.contains("a <b> & \"c\""), text);
    assertTrue(text.contains("14.0 % (Server PC)25.0 %"), text);
    assertTrue(text.contains("7.00 % (Netbook 1)not measured"), text);
    assertTrue(text.contains("Server PC, Android 1.6 (published)8.918532"), text);
    assertTrue(text.contains("failed: FFT: <wrong>"), text);
    // Six kernels, of which two have bars of some width in three modes.
    int bars = 0;
    for (int place = 0; place < page.getElementsByTagName("rect").getLength(); place++) {
      String width =
          page.getElementsByTagName("rect")
              .item(place)
              .getAttributes()
              .getNamedItem("width")
              .getNodeValue();
      bars += width.equals("0") ? 0 : 1;
    }
    assertEquals(6, bars);
  }
}
