// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.android;

import airbound.benchmark.results.Report;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;

/** The newest results, in a file that is whole at any moment. */
final class ResultStore {
  private final File file;

  ResultStore(File directory) {
    file = new File(directory, "results.json");
  }

  /**
   * Replaces what is kept.
   *
   * @throws IOException it cannot be written: a full disk; what was kept before stays
   */
  synchronized void keep(Report report) throws IOException {
    File whole = new File(file.getPath() + ".new");
    try (FileOutputStream out = new FileOutputStream(whole)) {
      out.write(report.json().getBytes(StandardCharsets.UTF_8));
      out.getFD().sync();
    }
    if (!whole.renameTo(file)) {
      throw new IOException("rename " + whole);
    }
  }

  /**
   * Returns what is kept; null if there is nothing yet.
   *
   * @throws IOException it cannot be read, or is no report
   */
  synchronized Report kept() throws IOException {
    if (!file.exists()) {
      return null;
    }
    String text = new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
    try {
      return Report.parse(text);
    } catch (IllegalArgumentException error) {
      throw new IOException(file.getName() + ": " + error.getMessage(), error);
    }
  }
}
