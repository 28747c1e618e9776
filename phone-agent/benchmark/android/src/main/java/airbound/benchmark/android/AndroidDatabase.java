// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.android;

import airbound.benchmark.sqlite.Database;
import android.database.Cursor;
import android.database.SQLException;
import android.database.sqlite.SQLiteDatabase;
import android.database.sqlite.SQLiteStatement;
import java.io.File;
import java.io.IOException;

/**
 * Android's SQLite, with the journal and the synchronous mode that Android 1.6 and 2.1 had: deleted
 * after each transaction, and full. Later ones have others by default.
 */
final class AndroidDatabase implements Database {
  private final File file;
  private final SQLiteDatabase database;
  private final SQLiteStatement insert;

  /**
   * Makes a database with the empty table, in a file of its own.
   *
   * @throws IOException the directory is not there, full, or not writable
   */
  AndroidDatabase(File directory) throws IOException {
    try {
      file = File.createTempFile("airbound-benchmark-", ".db", directory);
    } catch (IOException error) {
      throw new IOException("make a file in " + directory + ": " + error.getMessage(), error);
    }
    SQLiteDatabase opened = null;
    SQLiteStatement statement;
    try {
      opened = SQLiteDatabase.openOrCreateDatabase(file, null);
      opened.disableWriteAheadLogging();
      pragma(opened, "journal_mode = DELETE");
      pragma(opened, "synchronous = FULL");
      opened.execSQL(CREATE);
      statement = opened.compileStatement(INSERT);
    } catch (SQLException error) {
      remove(opened);
      throw failure("make a table", error);
    }
    database = opened;
    insert = statement;
  }

  /** Sets or reads a setting of SQLite's; returns its value, null if it answers nothing. */
  private static String pragma(SQLiteDatabase database, String setting) {
    try (Cursor value = database.rawQuery("PRAGMA " + setting, null)) {
      return value.moveToFirst() ? value.getString(0) : null;
    }
  }

  /** Returns a setting of SQLite's. */
  String pragma(String name) {
    return pragma(database, name);
  }

  @Override
  public void begin() throws IOException {
    try {
      database.beginTransaction();
    } catch (SQLException error) {
      throw failure("begin a transaction", error);
    }
  }

  @Override
  public void commit() throws IOException {
    try {
      database.setTransactionSuccessful();
      database.endTransaction();
    } catch (SQLException error) {
      throw failure("commit a transaction", error);
    }
  }

  @Override
  public void insert(int number, String text) throws IOException {
    try {
      insert.bindLong(1, number);
      insert.bindString(2, text);
      insert.executeInsert();
    } catch (SQLException error) {
      throw failure("insert row " + number, error);
    }
  }

  /** A cursor that nothing is asked of has prepared the statement, and run nothing. */
  @Override
  public void prepareSelect() throws IOException {
    try {
      database.rawQuery(SELECT, null).close();
    } catch (SQLException error) {
      throw failure("prepare the select", error);
    }
  }

  @Override
  public int firstRow() throws IOException {
    try (Cursor rows = database.rawQuery(SELECT, null)) {
      return rows.moveToFirst() ? rows.getInt(0) : -1;
    } catch (SQLException error) {
      throw failure("read the first row", error);
    }
  }

  @Override
  public Sums everyRow() throws IOException {
    try (Cursor rows = database.rawQuery(SELECT, null)) {
      long count = 0;
      long numbers = 0;
      long characters = 0;
      while (rows.moveToNext()) {
        count++;
        numbers += rows.getInt(0);
        characters += rows.getString(1).length();
      }
      return new Sums(count, numbers, characters);
    } catch (SQLException error) {
      throw failure("read every row", error);
    }
  }

  @Override
  public Sums count() throws IOException {
    try (Cursor sums = database.rawQuery(COUNT, null)) {
      sums.moveToFirst();
      return new Sums(sums.getLong(0), sums.getLong(1), sums.getLong(2));
    } catch (SQLException error) {
      throw failure("count the rows", error);
    }
  }

  @Override
  public void close() throws IOException {
    insert.close();
    remove(database);
  }

  private void remove(SQLiteDatabase opened) throws IOException {
    if (opened != null) {
      while (opened.inTransaction()) {
        opened.endTransaction();
      }
      opened.close();
    }
    if (!SQLiteDatabase.deleteDatabase(file)) {
      throw new IOException("remove " + file);
    }
  }

  private IOException failure(String doing, SQLException error) {
    return new IOException(
        "SQLite in " + file.getParent() + ": " + doing + ": " + error.getMessage(), error);
  }
}
