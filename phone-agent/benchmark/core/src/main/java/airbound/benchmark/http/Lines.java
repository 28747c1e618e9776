// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.http;

import java.io.IOException;
import java.io.InputStream;

/** Lines of HTTP's header. */
final class Lines {
  /** A longer line is refused. */
  static final int LENGTH_MAX = 8192;

  private Lines() {}

  /**
   * Reads a line.
   *
   * @return the line without its end; null if the stream ended before it began
   * @throws IOException the stream ended within the line, or it is longer than {@link #LENGTH_MAX}
   */
  static String read(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int octet = in.read(); octet != '\n'; octet = in.read()) {
      if (octet < 0) {
        if (line.length() == 0) {
          return null;
        }
        throw new IOException("the connection ended within a line");
      }
      if (line.length() == LENGTH_MAX) {
        throw new IOException("a line is longer than " + LENGTH_MAX + " octets");
      }
      if (octet != '\r') {
        line.append((char) octet);
      }
    }
    return line.toString();
  }
}
