// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.sqlite;

import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;
import java.io.IOException;

/** Inserts rows into an empty table, some of them together in a transaction. */
final class Inserts implements Workload {
  private final Database database;
  private final int perTransaction;
  private int inserted;

  /** With 1 in a transaction, none is begun: SQLite commits each insert, as in the paper. */
  Inserts(Database database, int perTransaction) {
    this.database = database;
    this.perTransaction = perTransaction;
  }

  @Override
  public void run(int repetitions) throws IOException {
    int end = inserted + repetitions;
    while (inserted < end) {
      int together = Math.min(perTransaction, end - inserted);
      if (perTransaction > 1) {
        database.begin();
      }
      for (int row = 0; row < together; row++) {
        database.insert(inserted, Rows.text(inserted));
        inserted++;
      }
      if (perTransaction > 1) {
        database.commit();
      }
    }
  }

  @Override
  public void check() throws IOException {
    Database.Sums found = database.count();
    if (!found.equals(Rows.sums(inserted))) {
      throw new WrongAnswerException("the table has " + found + ", not " + Rows.sums(inserted));
    }
  }

  @Override
  public void close() throws IOException {
    database.close();
  }
}
