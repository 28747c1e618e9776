// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.sqlite;

import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;
import java.io.IOException;

/** Selects all rows of a table, in one of three ways. */
final class Selects implements Workload {
  /** How much of the select is carried out. */
  enum Way {
    PREPARED,
    FIRST_ROW,
    EVERY_ROW
  }

  private final Database database;
  private final Way way;
  private final int rows;

  Selects(Database database, Way way, int rows) throws IOException {
    this.database = database;
    this.way = way;
    this.rows = rows;
    database.begin();
    for (int row = 0; row < rows; row++) {
      database.insert(row, Rows.text(row));
    }
    database.commit();
  }

  @Override
  public void run(int repetitions) throws IOException {
    for (int repetition = 0; repetition < repetitions; repetition++) {
      switch (way) {
        case PREPARED:
          database.prepareSelect();
          break;
        case FIRST_ROW:
          int first = database.firstRow();
          if (first != 0) {
            throw new WrongAnswerException("the first row has the number " + first + ", not 0");
          }
          break;
        case EVERY_ROW:
          Database.Sums found = database.everyRow();
          if (!found.equals(Rows.sums(rows))) {
            throw new WrongAnswerException("the select has " + found + ", not " + Rows.sums(rows));
          }
          break;
      }
    }
  }

  /** What was prepared only is read once, to see that it was the right statement. */
  @Override
  public void check() throws IOException {
    Database.Sums found = database.everyRow();
    if (!found.equals(Rows.sums(rows))) {
      throw new WrongAnswerException("the select has " + found + ", not " + Rows.sums(rows));
    }
  }

  @Override
  public void close() throws IOException {
    database.close();
  }
}
