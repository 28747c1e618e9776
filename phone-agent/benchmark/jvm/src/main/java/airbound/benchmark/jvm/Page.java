// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.results.Report;
import airbound.benchmark.results.Result;
import airbound.benchmark.results.Run;
import java.util.ArrayList;
import java.util.List;

/** A report as one page of HTML without scripts: the paper's Figs 1 to 3 and its table 2. */
final class Page {
  private static final String STYLE =
      """
      body { font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 50em; padding: 0 1em; }
      svg { width: 100%; } text { font: 12px sans-serif; } .name { font-weight: bold; }
      table { border-collapse: collapse; } td, th { border: 1px solid #bbb; padding: .2em .6em; }
      th { background: #eee; text-align: left; } caption, .remark { color: #555; }
      """;

  private Page() {}

  static String html(Report report) {
    StringBuilder html = new StringBuilder();
    html.append("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n");
    html.append("<title>Airbound benchmark</title>\n<style>\n").append(STYLE);
    html.append("</style>\n</head>\n<body>\n<h1>Airbound benchmark</h1>\n");
    html.append(machine(report));
    figure(html, report, "cpu/", "Fig 1: CPU, Linpack and SciMark 2");
    html.append(analogy(report));
    figure(html, report, "drawing/", "Fig 2: drawing");
    figure(html, report, "http/", "Fig 3: HTTP transactions of one byte");
    figure(html, report, "sqlite/", "SQLite");
    html.append(table2(report));
    html.append(doubts(report));
    return html.append("</body>\n</html>\n").toString();
  }

  private static String machine(Report report) {
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of("began", report.began));
    report.machine().forEach((name, text) -> rows.add(List.of(name.replace('_', ' '), text)));
    rows.add(List.of("clock resolution", report.clockResolutionNs + " ns"));
    rows.add(
        List.of(
            "measured",
            String.format(
                "%d passes of %d rounds after %d; figures are medians of the passes' medians",
                report.settings.passes, report.settings.rounds, report.settings.warmupRounds)));
    if (!report.complete()) {
      rows.add(List.of("interrupted", "the run did not come to its end"));
    }
    return Html.table(List.of("", ""), rows);
  }

  private static void figure(StringBuilder html, Report report, String prefix, String title) {
    String svg = Bars.svg(report, prefix, title);
    if (!svg.isEmpty()) {
      html.append("<h2>").append(Html.escape(title)).append("</h2>\n");
      html.append("<p class=\"remark\">Each group has a scale of its own.</p>\n").append(svg);
    }
  }

  /** The paper's ratios beside those of an interpreter to a compiler. */
  private static String analogy(Report report) {
    Run jit = report.run(Mode.JIT.title());
    Run interpreter = report.run(Mode.INTERPRETER.title());
    if (jit == null || interpreter == null) {
      return "";
    }
    List<List<String>> rows = new ArrayList<>();
    for (Published.Ratio ratio : Published.RATIOS) {
      rows.add(
          List.of(
              ratio.id(),
              Numbers.percent(ratio.androidToLinux()) + " (" + ratio.machine() + ")",
              ratio(interpreter.result(ratio.id()), jit.result(ratio.id()))));
    }
    return """
    <h3>An analogy, no repetition</h3>
    <p>Android 1.6 had an interpreter and Linux' Java a compiler. So the paper's ratio, Android to
    Linux, stands beside the one of the same JVM's interpreter to its compiler. The virtual
    machines and the processors are others.</p>
    """
        + Html.table(List.of("", "published: Android to Linux", "here: interpreter to JIT"), rows);
  }

  private static String ratio(Result part, Result whole) {
    if (part == null || whole == null || !part.measured() || !whole.measured()) {
      return "not measured";
    }
    boolean noisy = !part.doubts().isEmpty() || !whole.doubts().isEmpty();
    return Numbers.percent(part.median() / whole.median()) + (noisy ? " (noisy)" : "");
  }

  private static String table2(Report report) {
    List<List<String>> rows = new ArrayList<>();
    for (Published.SqliteRow row : Published.TABLE_2) {
      rows.add(
          List.of(
              row.machine() + ", " + row.system() + " (published)",
              Numbers.text(row.inserts()),
              Numbers.text(row.selects()),
              "",
              ""));
    }
    for (Run run : report.runs()) {
      rows.add(
          List.of(
              "here, " + run.mode,
              value(run.result("sqlite/insert")),
              value(run.result("sqlite/select-prepared")),
              value(run.result("sqlite/select-first-row")),
              value(run.result("sqlite/select-every-row"))));
    }
    return """
    <h2>Table 2: SQLite, a second</h2>
    <p>The paper's select is read as one that was prepared and not read. A scan of 10,000 rows of
    100 bytes, 8532 times a second, is 8.5 GB/s, more than its Celeron 440 can read from memory;
    and Android's rawQuery reads nothing until its cursor is asked.</p>
    """
        + Html.table(
            List.of("", "insert, a transaction each", "select, prepared", "first row", "every row"),
            rows);
  }

  private static String value(Result result) {
    if (result == null || !result.measured()) {
      return result != null && result.failed() != null ? "failed" : "not measured";
    }
    return Numbers.text(result.median()) + (result.doubts().isEmpty() ? "" : " (noisy)");
  }

  private static String doubts(Report report) {
    List<List<String>> rows = new ArrayList<>();
    for (Run run : report.runs()) {
      for (Result result : run.results()) {
        String why = result.failed() != null ? "failed: " + result.failed() : Table.doubts(result);
        if (!why.isEmpty()) {
          rows.add(List.of(run.mode + " " + result.id, why));
        }
      }
    }
    return rows.isEmpty()
        ? ""
        : "<h2>What is in doubt</h2>\n" + Html.table(List.of("benchmark", "why"), rows);
  }
}
