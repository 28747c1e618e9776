// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.android;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import airbound.benchmark.http.ByteServer;
import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;
import airbound.benchmark.sqlite.Database;
import airbound.benchmark.sqlite.Sqlite;
import android.content.Context;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;

/** Android's ends of the benchmarks, by Robolectric's Canvas and SQLite, which are Android's. */
@RunWith(RobolectricTestRunner.class)
public final class BenchmarksTest {
  private final Context context = RuntimeEnvironment.getApplication();

  @Before
  public void fewRows() {
    BenchmarkService.rows = 50;
  }

  @After
  public void allRows() {
    BenchmarkService.rows = 10_000;
  }

  @Test
  public void everyBenchmarkPassesItsCheck() throws IOException {
    int count = 0;
    try (ByteServer server =
        new ByteServer(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
      for (Benchmark benchmark : BenchmarkService.plan(context, server.address())) {
        try (Workload workload = benchmark.open()) {
          workload.run(Math.max(2, benchmark.fixedRepetitions));
          workload.check();
          count++;
        }
      }
    }
    assertEquals(19, count);
    assertEquals(0, context.getCacheDir().list().length);
  }

  @Test
  public void theJournalIsDeletedAndSynchronousIsFull() throws IOException {
    try (AndroidDatabase database = new AndroidDatabase(context.getCacheDir())) {
      assertEquals("delete", database.pragma("journal_mode"));
      assertEquals("2", database.pragma("synchronous"));
    }
  }

  @Test
  public void aRowTooManyIsAWrongAnswer() throws IOException {
    Database[] opened = new Database[1];
    Benchmark everyRow =
        Sqlite.benchmarks(() -> opened[0] = new AndroidDatabase(context.getCacheDir()), 20, 1)
            .get(5);
    try (Workload workload = everyRow.open()) {
      workload.run(1);
      opened[0].insert(20, "x");
      assertThrows(WrongAnswerException.class, () -> workload.run(1));
    }
  }

  @Test
  public void aDirectoryThatIsNotThereIsNamed() {
    File missing = new File(context.getCacheDir(), "missing");
    IOException error = assertThrows(IOException.class, () -> new AndroidDatabase(missing));
    assertTrue(error.getMessage(), error.getMessage().startsWith("make a file in " + missing));
  }

  /** SQLite's own limit of a file's size, which it reports as a full disk. */
  @Test
  public void aFullDiskIsNamed() throws IOException {
    try (AndroidDatabase database = new AndroidDatabase(context.getCacheDir())) {
      database.pragma("max_page_count = 3");
      IOException error =
          assertThrows(
              IOException.class,
              () -> {
                for (int row = 0; row < 1000; row++) {
                  database.insert(row, "x".repeat(100));
                }
              });
      assertTrue(error.getMessage(), error.getMessage().contains("full"));
    }
  }
}
