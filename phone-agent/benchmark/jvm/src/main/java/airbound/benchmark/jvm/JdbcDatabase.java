// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.sqlite.Database;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.sqlite.SQLiteConfig;

/**
 * SQLite by JDBC, with the journal and the synchronous mode that Android 1.6 and 2.1 had: deleted
 * after each transaction, and full.
 */
final class JdbcDatabase implements Database {
  private final Path directory;
  private final Path file;
  private final Connection connection;
  private final PreparedStatement insert;

  /**
   * Makes a database with the empty table, in a file of its own.
   *
   * @throws IOException the directory is not there, full, or not writable; or SQLite does not load
   */
  JdbcDatabase(Path directory) throws IOException {
    this.directory = directory;
    Connection opened = null;
    try {
      file = Files.createTempFile(directory, "airbound-benchmark-", ".db");
    } catch (IOException error) {
      throw new IOException("make a file in " + directory + ": " + error, error);
    }
    try {
      SQLiteConfig config = new SQLiteConfig();
      config.setJournalMode(SQLiteConfig.JournalMode.DELETE);
      config.setSynchronous(SQLiteConfig.SynchronousMode.FULL);
      opened = config.createConnection("jdbc:sqlite:" + file);
      try (var statement = opened.createStatement()) {
        statement.execute(CREATE);
      }
      insert = opened.prepareStatement(INSERT);
    } catch (SQLException error) {
      try {
        remove(opened);
      } catch (IOException second) {
        error.addSuppressed(second);
      }
      throw failure("make a table", error);
    }
    connection = opened;
  }

  @Override
  public void begin() throws IOException {
    try {
      connection.setAutoCommit(false);
    } catch (SQLException error) {
      throw failure("begin a transaction", error);
    }
  }

  @Override
  public void commit() throws IOException {
    try {
      connection.commit();
      connection.setAutoCommit(true);
    } catch (SQLException error) {
      throw failure("commit a transaction", error);
    }
  }

  @Override
  public void insert(int number, String text) throws IOException {
    try {
      insert.setInt(1, number);
      insert.setString(2, text);
      insert.executeUpdate();
    } catch (SQLException error) {
      throw failure("insert row " + number, error);
    }
  }

  @Override
  public void prepareSelect() throws IOException {
    try (PreparedStatement statement = connection.prepareStatement(SELECT)) {
      statement.getMaxRows();
    } catch (SQLException error) {
      throw failure("prepare the select", error);
    }
  }

  @Override
  public int firstRow() throws IOException {
    try (PreparedStatement statement = connection.prepareStatement(SELECT);
        ResultSet rows = statement.executeQuery()) {
      return rows.next() ? rows.getInt(1) : -1;
    } catch (SQLException error) {
      throw failure("read the first row", error);
    }
  }

  @Override
  public Sums everyRow() throws IOException {
    try (PreparedStatement statement = connection.prepareStatement(SELECT);
        ResultSet rows = statement.executeQuery()) {
      long count = 0;
      long numbers = 0;
      long characters = 0;
      while (rows.next()) {
        count++;
        numbers += rows.getInt(1);
        characters += rows.getString(2).length();
      }
      return new Sums(count, numbers, characters);
    } catch (SQLException error) {
      throw failure("read every row", error);
    }
  }

  @Override
  public Sums count() throws IOException {
    try (PreparedStatement statement = connection.prepareStatement(COUNT);
        ResultSet sums = statement.executeQuery()) {
      return new Sums(sums.getLong(1), sums.getLong(2), sums.getLong(3));
    } catch (SQLException error) {
      throw failure("count the rows", error);
    }
  }

  /** Returns a setting of SQLite's. */
  String pragma(String name) throws IOException {
    try (PreparedStatement statement = connection.prepareStatement("PRAGMA " + name);
        ResultSet value = statement.executeQuery()) {
      return value.getString(1);
    } catch (SQLException error) {
      throw failure("read " + name, error);
    }
  }

  @Override
  public void close() throws IOException {
    remove(connection);
  }

  /** Closes and removes the file, with the journal that an aborted transaction leaves. */
  private void remove(Connection opened) throws IOException {
    try {
      if (opened != null) {
        opened.close();
      }
    } catch (SQLException error) {
      throw failure("close the database", error);
    } finally {
      Files.deleteIfExists(file);
      Files.deleteIfExists(file.resolveSibling(file.getFileName() + "-journal"));
    }
  }

  private IOException failure(String doing, SQLException error) {
    return new IOException(
        "SQLite in " + directory + ": " + doing + ": " + error.getMessage(), error);
  }
}
