// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.http;

import airbound.benchmark.measure.WrongAnswerException;
import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** A client: transactions one after the other, over one connection or over one each. */
final class Fetcher implements Closeable {
  /** A server that is silent for so long is gone. */
  private static final int TIMEOUT_MS = 10_000;

  private final InetSocketAddress server;
  private final boolean kept;
  private final String head;
  private Socket socket;
  private InputStream in;

  Fetcher(InetSocketAddress server, boolean kept) {
    this.server = server;
    this.kept = kept;
    String host = server.getHostString() + ":" + server.getPort();
    this.head = " HTTP/1.1\r\nHost: " + host + (kept ? "" : "\r\nConnection: close") + "\r\n\r\n";
  }

  /**
   * Fetches one byte and compares it.
   *
   * @param number which: the answer is this number modulo 256
   * @throws WrongAnswerException the answer is another, or longer or shorter than one byte
   * @throws IOException the server does not answer, or not by HTTP; the message names it
   */
  void fetch(int number) throws IOException {
    try {
      if (socket == null) {
        connect();
      }
      String request = "GET /" + number + head;
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      answer(number & 0xff);
    } catch (WrongAnswerException error) {
      close();
      throw error;
    } catch (IOException error) {
      close();
      throw new IOException(
          String.format(Locale.ROOT, "HTTP server %s: %s", name(), error.getMessage()), error);
    }
    if (!kept) {
      close();
    }
  }

  private String name() {
    return server.getHostString() + ":" + server.getPort();
  }

  private void connect() throws IOException {
    // A name is resolved for each connection, as by any client; an address is one already.
    InetSocketAddress resolved =
        server.isUnresolved()
            ? new InetSocketAddress(server.getHostString(), server.getPort())
            : server;
    if (resolved.isUnresolved()) {
      throw new IOException("no such host");
    }
    socket = new Socket();
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(TIMEOUT_MS);
    socket.connect(resolved, TIMEOUT_MS);
    in = new BufferedInputStream(socket.getInputStream(), 512);
  }

  private void answer(int expected) throws IOException {
    String status = Lines.read(in);
    if (status == null) {
      throw new IOException("closed the connection without an answer");
    }
    if (!status.startsWith("HTTP/1.1 200 ")) {
      throw new IOException("answered \"" + status + "\"");
    }
    long length = -1;
    String line = Lines.read(in);
    while (line != null && !line.isEmpty()) {
      if (line.regionMatches(true, 0, "Content-Length:", 0, "Content-Length:".length())) {
        length = length(line.substring("Content-Length:".length()).trim());
      }
      line = Lines.read(in);
    }
    if (length != 1) {
      throw new WrongAnswerException(
          "HTTP server " + name() + ": answered " + octets(length) + ", not 1");
    }
    int found = in.read();
    if (found != expected) {
      throw new WrongAnswerException(
          String.format(
              Locale.ROOT,
              "HTTP server %s: answered the octet %d, not %d",
              name(),
              found,
              expected));
    }
    // On a connection that ends, what is behind the byte shows whether it was the only one.
    if (!kept && in.read() >= 0) {
      throw new WrongAnswerException("HTTP server " + name() + ": answered more than 1 octet");
    }
  }

  private static String octets(long length) {
    return length < 0 ? "without Content-Length" : length + " octets";
  }

  private static long length(String text) throws IOException {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException error) {
      throw new IOException("answered the Content-Length \"" + text + "\"", error);
    }
  }

  @Override
  public void close() throws IOException {
    if (socket != null) {
      socket.close();
      socket = null;
    }
  }
}
