// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.results.Report;
import airbound.benchmark.results.Result;
import airbound.benchmark.results.Run;
import java.util.List;
import java.util.Locale;

/**
 * A bar chart as SVG: a group for each benchmark, a bar for each mode. Each group has its own
 * scale, up to its largest value, since a kernel's rates differ from another's by tens.
 */
final class Bars {
  private static final int LABEL_PX = 150;
  private static final int BAR_PX = 380;
  private static final int WIDTH_PX = 760;
  private static final int ROW_PX = 20;
  private static final int GAP_PX = 10;
  private static final List<String> COLOURS = List.of("#2a6fbb", "#6fa8dc", "#e69138");

  private Bars() {}

  /** Returns a chart of the benchmarks whose names begin so; empty if there are none. */
  static String svg(Report report, String prefix, String title) {
    List<String> ids =
        report.runs().stream()
            .flatMap(run -> run.results().stream())
            .map(result -> result.id)
            .filter(id -> id.startsWith(prefix))
            .distinct()
            .toList();
    if (ids.isEmpty()) {
      return "";
    }
    StringBuilder svg = new StringBuilder();
    int height = ids.size() * (report.runs().size() * ROW_PX + GAP_PX);
    svg.append(
        String.format(
            Locale.ROOT,
            "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">%n",
            WIDTH_PX,
            height,
            Html.escape(title)));
    int y = 0;
    for (String id : ids) {
      svg.append(text(0, y + ROW_PX - 5, id.substring(prefix.length()), "name"));
      double largest =
          report.runs().stream().mapToDouble(run -> median(run.result(id))).max().orElse(0);
      for (int place = 0; place < report.runs().size(); place++) {
        svg.append(bar(report.runs().get(place), id, largest, y, place));
        y += ROW_PX;
      }
      y += GAP_PX;
    }
    return svg.append("</svg>\n").toString();
  }

  private static String bar(Run run, String id, double largest, int y, int place) {
    Result result = run.result(id);
    double median = median(result);
    long width = largest > 0 ? Math.round(BAR_PX * median / largest) : 0;
    String label = run.mode + ": " + label(result);
    return String.format(
            Locale.ROOT,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>%n",
            LABEL_PX,
            y + 2,
            width,
            ROW_PX - 4,
            COLOURS.get(place % COLOURS.size()))
        + text(LABEL_PX + width + 6, y + ROW_PX - 5, label, "value");
  }

  private static String label(Result result) {
    if (result == null || !result.measured()) {
      return result != null && result.failed() != null ? "failed" : "not run";
    }
    String noisy = result.doubts().isEmpty() ? "" : " (noisy)";
    return Numbers.text(result.median()) + " " + result.unit + noisy;
  }

  private static double median(Result result) {
    return result != null && result.measured() ? result.median() : 0;
  }

  private static String text(long x, int y, String text, String style) {
    return String.format(
        Locale.ROOT,
        "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>%n",
        x,
        y,
        style,
        Html.escape(text));
  }
}
