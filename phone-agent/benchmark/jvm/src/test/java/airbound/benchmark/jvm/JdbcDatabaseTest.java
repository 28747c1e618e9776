// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;
import airbound.benchmark.sqlite.Database;
import airbound.benchmark.sqlite.Sqlite;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The benchmarks of SQLite, on a real file. */
final class JdbcDatabaseTest {
  @TempDir private Path directory;

  private void assertNoFileIsLeft() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      assertEquals(List.of(), files.toList());
    }
  }

  @Test
  void everyBenchmarkPassesItsCheck() throws IOException {
    for (Benchmark one : Sqlite.benchmarks(() -> new JdbcDatabase(directory), 123, 5)) {
      try (Workload workload = one.open()) {
        workload.run(one.fixedRepetitions);
        workload.check();
      }
      assertNoFileIsLeft();
    }
  }

  @Test
  void rowsAndSelectsAreAsManyAsWereAskedFor() {
    for (Benchmark one : Sqlite.benchmarks(() -> new JdbcDatabase(directory), 123, 5)) {
      assertEquals(one.id.contains("insert") ? 123 : 5, one.fixedRepetitions, one.id);
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> Sqlite.benchmarks(() -> new JdbcDatabase(directory), 0, 5));
    assertThrows(
        IllegalArgumentException.class,
        () -> Sqlite.benchmarks(() -> new JdbcDatabase(directory), 1, -1));
  }

  /** A row that another has inserted or removed is found by every benchmark but the first row's. */
  @Test
  void anotherTableIsAWrongAnswer() throws IOException {
    AtomicReference<Database> opened = new AtomicReference<>();
    List<Benchmark> benchmarks =
        Sqlite.benchmarks(
            () -> {
              opened.set(new JdbcDatabase(directory));
              return opened.get();
            },
            20,
            1);
    for (Benchmark one : benchmarks) {
      try (Workload workload = one.open()) {
        opened.get().insert(20, "x".repeat(100));
        WrongAnswerException error =
            assertThrows(
                WrongAnswerException.class,
                () -> {
                  workload.run(one.fixedRepetitions);
                  workload.check();
                });
        assertTrue(error.getMessage().contains(" rows with the sum "), error.getMessage());
      }
    }
  }

  /** As Android 1.6 and 2.1 had it; the figures of inserts depend on it. */
  @Test
  void theJournalIsDeletedAndSynchronousIsFull() throws Exception {
    try (JdbcDatabase database = new JdbcDatabase(directory)) {
      assertEquals("delete", database.pragma("journal_mode"));
      assertEquals("2", database.pragma("synchronous"));
    }
  }

  @Test
  void aDirectoryThatIsNotThereIsNamed() {
    Path missing = directory.resolve("missing");
    IOException error = assertThrows(IOException.class, () -> new JdbcDatabase(missing));
    assertTrue(error.getMessage().startsWith("make a file in " + missing), error.getMessage());
  }

  @Test
  void aDirectoryThatCannotBeWrittenIsNamed() {
    // Of all users, root included.
    Path proc = Path.of("/proc/self");
    IOException error = assertThrows(IOException.class, () -> new JdbcDatabase(proc));
    assertTrue(error.getMessage().startsWith("make a file in " + proc), error.getMessage());
  }
}
