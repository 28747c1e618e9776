// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.results.Report;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Files of results. */
final class ReportFiles {
  private ReportFiles() {}

  /**
   * Reads a file.
   *
   * @throws IllegalArgumentException it cannot be read, or it is no report; the message names it
   */
  static Report read(Path file) {
    try {
      return Report.parse(Files.readString(file));
    } catch (IOException | IllegalArgumentException error) {
      throw new IllegalArgumentException(file + ": " + error.getMessage(), error);
    }
  }

  /**
   * Writes a file.
   *
   * @throws IOException it cannot be written; the message names it
   */
  static void write(Path file, String text) throws IOException {
    try {
      Files.writeString(file, text);
    } catch (IOException error) {
      throw new IOException("write " + file + ": " + error, error);
    }
  }
}
