// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.results.Doubt;
import airbound.benchmark.results.Report;
import airbound.benchmark.results.Result;
import airbound.benchmark.results.Run;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** A report as text: a row for each benchmark of each mode. */
final class Table {
  private Table() {}

  static String text(Report report) {
    StringBuilder text = new StringBuilder();
    for (Run run : report.runs()) {
      line(text, run.mode, "median", "unit", "spread", "");
      for (Result result : run.results()) {
        if (result.measured()) {
          line(
              text,
              "  " + result.id,
              Numbers.text(result.median()),
              result.unit,
              Numbers.percent(result.spread()),
              doubts(result));
        } else {
          String why = result.failed() == null ? "not run" : "FAILED: " + result.failed();
          line(text, "  " + result.id, "-", "", "", why);
        }
      }
    }
    if (!report.complete()) {
      text.append("The run was interrupted: this is what it had.\n");
    }
    return text.toString();
  }

  /** Returns why a result is no base for a comparison; empty if it is one. */
  static String doubts(Result result) {
    List<Doubt> doubts = result.doubts();
    return doubts.isEmpty()
        ? ""
        : "noisy: " + doubts.stream().map(Doubt::text).collect(Collectors.joining("; "));
  }

  private static void line(
      StringBuilder text, String name, String median, String unit, String spread, String remark) {
    String line =
        String.format(Locale.ROOT, "%-34s %10s %-14s %8s  %s", name, median, unit, spread, remark);
    text.append(line.stripTrailing()).append('\n');
  }
}
