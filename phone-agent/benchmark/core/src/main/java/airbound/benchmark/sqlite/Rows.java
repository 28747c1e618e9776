// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.sqlite;

/** The table's rows: 0, 1, 2, ... and a text of 100 characters each. */
final class Rows {
  private static final int CHARACTERS = 100;

  private Rows() {}

  static String text(int number) {
    StringBuilder text = new StringBuilder(CHARACTERS);
    text.append(number);
    while (text.length() < CHARACTERS) {
      text.append((char) ('a' + (number + text.length()) % 26));
    }
    return text.toString();
  }

  /** Returns what so many rows count and sum to. */
  static Database.Sums sums(long rows) {
    return new Database.Sums(rows, rows * (rows - 1) / 2, rows * CHARACTERS);
  }
}
