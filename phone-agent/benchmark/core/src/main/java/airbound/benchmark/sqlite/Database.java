// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.sqlite;

import java.io.Closeable;
import java.io.IOException;

/**
 * An empty database file with the table {@code rows (number INTEGER, text TEXT)}. Errors are
 * IOExceptions with SQLite's message.
 */
public interface Database extends Closeable {
  /** Makes the file anew. */
  interface Opener {
    /**
     * Opens a new database.
     *
     * @throws IOException the file cannot be made: its message says where and why
     */
    Database open() throws IOException;
  }

  String CREATE = "CREATE TABLE rows (number INTEGER, text TEXT)";
  String INSERT = "INSERT INTO rows VALUES (?, ?)";
  String SELECT = "SELECT * FROM rows";
  String COUNT = "SELECT COUNT(*), SUM(number), SUM(LENGTH(text)) FROM rows";

  /** Begins a transaction. Without one, each insert is its own. */
  void begin() throws IOException;

  /** Ends a transaction. */
  void commit() throws IOException;

  /** Inserts a row. */
  void insert(int number, String text) throws IOException;

  /** Has SQLite prepare the select, and reads nothing: Android's rawQuery alone. */
  void prepareSelect() throws IOException;

  /**
   * Prepares the select and reads the first row.
   *
   * @return its number
   */
  int firstRow() throws IOException;

  /** Prepares the select, and reads both columns of every row. */
  Sums everyRow() throws IOException;

  /** Has SQLite count and sum the rows, by a way of its own. */
  Sums count() throws IOException;

  /** What rows are checked by. */
  final class Sums {
    public final long rows;
    public final long numbers;
    public final long characters;

    /** Rows, the sum of their numbers, and of the lengths of their texts. */
    public Sums(long rows, long numbers, long characters) {
      this.rows = rows;
      this.numbers = numbers;
      this.characters = characters;
    }

    @Override
    public boolean equals(Object other) {
      if (!(other instanceof Sums)) {
        return false;
      }
      Sums sums = (Sums) other;
      return rows == sums.rows && numbers == sums.numbers && characters == sums.characters;
    }

    @Override
    public int hashCode() {
      return Long.hashCode(rows + 31 * numbers);
    }

    @Override
    public String toString() {
      return rows + " rows with the sum " + numbers + " and " + characters + " characters";
    }
  }
}
