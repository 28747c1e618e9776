// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.results.Report;
import airbound.benchmark.results.Result;
import airbound.benchmark.results.Run;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Two reports, benchmark by benchmark. A benchmark is compared if it was calm in both; its medians
 * are called equal within {@link Result#SPREAD_MAX}. Pure.
 */
final class Comparison {
  /** How a benchmark of two reports compares. */
  enum Verdict {
    EQUAL,
    DIFFERENT,
    REFUSED
  }

  /** One benchmark: medians, and their change as a part of the first. */
  record Row(
      String mode,
      String id,
      String unit,
      double first,
      double second,
      Verdict verdict,
      String why) {
    double change() {
      return second / first - 1;
    }
  }

  private final List<Row> rows = new ArrayList<>();
  private final List<String> remarks = new ArrayList<>();

  Comparison(Report first, Report second) {
    if (!first.machine().equals(second.machine())) {
      remarks.add("The machines differ: " + first.machine() + " and " + second.machine() + ".");
    }
    if (first.rows != second.rows) {
      remarks.add("The tables differ: " + first.rows + " and " + second.rows + " rows.");
    }
    for (Run run : first.runs()) {
      Run other = second.run(run.mode);
      if (other == null) {
        remarks.add("Only the first has the mode " + run.mode + ".");
        continue;
      }
      for (Result result : run.results()) {
        compare(run.mode, result, other.result(result.id));
      }
    }
  }

  private void compare(String mode, Result first, Result second) {
    if (second == null || !first.measured() || !second.measured()) {
      refuse(mode, first, "one of the two has no result");
    } else if (!first.unit.equals(second.unit)) {
      refuse(mode, first, "the units differ");
    } else if (!first.doubts().isEmpty()) {
      refuse(mode, first, "the first was " + Table.doubts(first));
    } else if (!second.doubts().isEmpty()) {
      refuse(mode, first, "the second was " + Table.doubts(second));
    } else {
      double change = second.median() / first.median() - 1;
      Verdict verdict = Math.abs(change) <= Result.SPREAD_MAX ? Verdict.EQUAL : Verdict.DIFFERENT;
      rows.add(new Row(mode, first.id, first.unit, first.median(), second.median(), verdict, ""));
    }
  }

  private void refuse(String mode, Result result, String why) {
    rows.add(new Row(mode, result.id, result.unit, 0, 0, Verdict.REFUSED, why));
  }

  List<Row> rows() {
    return List.copyOf(rows);
  }

  /** Returns whether every benchmark was compared. */
  boolean whole() {
    return rows.stream().allMatch(row -> row.verdict() != Verdict.REFUSED);
  }

  String text() {
    StringBuilder text = new StringBuilder();
    for (String remark : remarks) {
      text.append(remark).append('\n');
    }
    for (Row row : rows) {
      String name = row.mode() + " " + row.id();
      if (row.verdict() == Verdict.REFUSED) {
        text.append(String.format(Locale.ROOT, "%-40s not compared: %s%n", name, row.why()));
      } else {
        text.append(
            String.format(
                Locale.ROOT,
                "%-40s %10s %10s %-14s %+6.1f %%  %s%n",
                name,
                Numbers.text(row.first()),
                Numbers.text(row.second()),
                row.unit(),
                row.change() * 100,
                row.verdict() == Verdict.EQUAL ? "equal" : "different"));
      }
    }
    long refused = rows.stream().filter(row -> row.verdict() == Verdict.REFUSED).count();
    text.append(
        String.format(Locale.ROOT, "%d compared, %d not%n", rows.size() - refused, refused));
    return text.toString();
  }
}
