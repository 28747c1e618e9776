// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.sqlite;

import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Workload;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The benchmarks of SQLite: a table of an integer and a string of 100 bytes. */
public final class Sqlite {
  private Sqlite() {}

  /**
   * Returns the benchmarks.
   *
   * @param rows how many are inserted, and selected each time; the paper has 10,000
   * @param selects how often the table is selected in a round: 10,000 in the paper; 0: as often as
   *     fills a round
   * @throws IllegalArgumentException rows are not above 0, or selects are below 0
   */
  public static List<Benchmark> benchmarks(Database.Opener databases, int rows, int selects) {
    if (rows < 1 || selects < 0) {
      throw new IllegalArgumentException("rows are at least 1, selects at least 0");
    }
    List<Benchmark> benchmarks = new ArrayList<>();
    benchmarks.add(inserts(databases, "insert", rows, 1));
    benchmarks.add(inserts(databases, "insert-tens", rows, 10));
    benchmarks.add(inserts(databases, "insert-one-transaction", rows, rows));
    benchmarks.add(selects(databases, "select-prepared", Selects.Way.PREPARED, rows, selects));
    benchmarks.add(selects(databases, "select-first-row", Selects.Way.FIRST_ROW, rows, selects));
    benchmarks.add(selects(databases, "select-every-row", Selects.Way.EVERY_ROW, rows, selects));
    return benchmarks;
  }

  private static Benchmark inserts(
      Database.Opener databases, String name, int rows, int perTransaction) {
    return new Benchmark(
        "sqlite/" + name, "rows/s", 1, rows, () -> new Inserts(databases.open(), perTransaction));
  }

  private static Benchmark selects(
      Database.Opener databases, String name, Selects.Way way, int rows, int selects) {
    return new Benchmark(
        "sqlite/" + name, "selects/s", 1, selects, () -> prepared(databases.open(), way, rows));
  }

  private static Workload prepared(Database database, Selects.Way way, int rows)
      throws IOException {
    try {
      return new Selects(database, way, rows);
    } catch (IOException error) {
      database.close();
      throw error;
    }
  }
}
