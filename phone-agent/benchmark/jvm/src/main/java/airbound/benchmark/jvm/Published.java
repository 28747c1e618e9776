// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import java.util.List;

/**
 * What Hattori and Yamaguchi published in "A Study on Basic Performance of Android-based
 * Environment" (in Japanese). Of Figs 1 to 3 their text has two ratios and no other number.
 */
final class Published {
  /** Android's part of Linux' performance on the same machine. */
  record Ratio(String id, String machine, double androidToLinux) {}

  /** A row of table 2: transactions a second. */
  record SqliteRow(String machine, String system, double inserts, double selects) {}

  static final List<Ratio> RATIOS =
      List.of(
          new Ratio("cpu/sor", "Server PC", 0.14), new Ratio("cpu/monte-carlo", "Netbook 1", 0.07));

  static final List<SqliteRow> TABLE_2 =
      List.of(
          new SqliteRow("Server PC", "Android 1.6", 8.91, 8532),
          new SqliteRow("Netbook 1", "Android 1.6", 41.7, 4106),
          new SqliteRow("Netbook 2", "Android 2.1", 32.2, 3340),
          new SqliteRow("Phone X", "Android 2.1", 18.7, 867),
          new SqliteRow("Phone H", "Android 1.6", 45.7, 427));

  private Published() {}
}
