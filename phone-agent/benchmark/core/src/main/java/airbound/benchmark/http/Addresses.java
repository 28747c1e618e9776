// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.http;

import java.net.InetSocketAddress;

/** Addresses as users write them: {@code HOST:PORT}. */
public final class Addresses {
  private static final int PORT_MAX = 65535;

  private Addresses() {}

  /**
   * Returns an address whose name is not resolved yet.
   *
   * @throws IllegalArgumentException the text is no {@code HOST:PORT}
   */
  public static InetSocketAddress parse(String text) {
    int colon = text.lastIndexOf(':');
    try {
      int port = Integer.parseInt(text.substring(colon + 1));
      if (colon > 0 && port >= 0 && port <= PORT_MAX) {
        return InetSocketAddress.createUnresolved(text.substring(0, colon), port);
      }
    } catch (NumberFormatException error) {
      throw new IllegalArgumentException("\"" + text + "\" is not HOST:PORT", error);
    }
    throw new IllegalArgumentException("\"" + text + "\" is not HOST:PORT");
  }
}
