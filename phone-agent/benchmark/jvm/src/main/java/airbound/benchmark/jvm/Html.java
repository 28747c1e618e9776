// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import java.util.List;
import java.util.stream.Collectors;

/** Texts and tables as HTML. */
final class Html {
  private Html() {}

  static String escape(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }

  /** Returns a table; cells are texts. */
  static String table(List<String> head, List<List<String>> rows) {
    return "<table>\n"
        + row("th", head)
        + rows.stream().map(cells -> row("td", cells)).collect(Collectors.joining())
        + "</table>\n";
  }

  private static String row(String cell, List<String> cells) {
    return cells.stream()
        .map(text -> "<" + cell + ">" + escape(text) + "</" + cell + ">")
        .collect(Collectors.joining("", "<tr>", "</tr>\n"));
  }
}
