// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.http;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * An HTTP server whose every answer is one byte: {@code GET /N} is answered by the octet N modulo
 * 256, so that a client can compare what it got. Connections are kept unless the request has {@code
 * Connection: close}. A thread for each connection; at most {@link #CONNECTIONS_MAX}.
 */
public final class ByteServer implements Closeable {
  static final int CONNECTIONS_MAX = 256;
  private static final int BACKLOG = 128;

  /** After a failure to accept. */
  private static final long PAUSE_NS = 10_000_000;

  /** A connection without a request for so long is closed. */
  private static final int IDLE_MS = 60_000;

  private final ServerSocket listener;
  private final Set<Socket> connections = ConcurrentHashMap.newKeySet();

  /**
   * Starts a server.
   *
   * @param address where it listens; port 0: a free one
   * @throws IOException the address cannot be listened on
   */
  public ByteServer(InetSocketAddress address) throws IOException {
    listener = new ServerSocket();
    try {
      listener.setReuseAddress(true);
      listener.bind(address, BACKLOG);
    } catch (IOException error) {
      listener.close();
      throw new IOException("listen on " + address + ": " + error.getMessage(), error);
    }
    Thread accepting = new Thread(this::accept, "airbound-benchmark server");
    accepting.setDaemon(true);
    accepting.start();
  }

  /** Returns where it listens. */
  public InetSocketAddress address() {
    return (InetSocketAddress) listener.getLocalSocketAddress();
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        serveInThread(listener.accept());
      } catch (IOException error) {
        // Closed, or out of file descriptors: the client's connection ends, and it says so.
        LockSupport.parkNanos(PAUSE_NS);
      }
    }
  }

  private void serveInThread(Socket connection) throws IOException {
    if (connections.size() >= CONNECTIONS_MAX) {
      connection.close();
      return;
    }
    connections.add(connection);
    Thread serving = new Thread(() -> serve(connection), "airbound-benchmark connection");
    serving.setDaemon(true);
    serving.start();
  }

  private void serve(Socket connection) {
    try (Socket served = connection) {
      served.setTcpNoDelay(true);
      served.setSoTimeout(IDLE_MS);
      InputStream in = new BufferedInputStream(served.getInputStream());
      OutputStream out = served.getOutputStream();
      boolean kept = true;
      while (kept) {
        String request = Lines.read(in);
        if (request == null) {
          return;
        }
        kept = keeps(in);
        out.write(answer(request, kept));
      }
    } catch (IOException error) {
      // The client has gone; its own benchmark reports that.
    } finally {
      connections.remove(connection);
    }
  }

  /** Reads the header and returns whether the connection stays. */
  private static boolean keeps(InputStream in) throws IOException {
    boolean kept = true;
    for (String line = Lines.read(in); line != null && !line.isEmpty(); line = Lines.read(in)) {
      kept &= !line.equalsIgnoreCase("connection: close");
    }
    return kept;
  }

  private static byte[] answer(String request, boolean kept) {
    int octet = octet(request);
    String status = octet < 0 ? "400 Bad Request" : "200 OK";
    String body = octet < 0 ? "?" : String.valueOf((char) octet);
    String head =
        "HTTP/1.1 "
            + status
            + "\r\nContent-Type: application/octet-stream\r\nContent-Length: 1\r\n";
    String connection = kept ? "" : "Connection: close\r\n";
    return (head + connection + "\r\n" + body).getBytes(StandardCharsets.ISO_8859_1);
  }

  /** Returns what {@code GET /N HTTP/1.1} asks for, -1 if the line is another. */
  private static int octet(String request) {
    if (!request.startsWith("GET /") || !request.endsWith(" HTTP/1.1")) {
      return -1;
    }
    try {
      int number = Integer.parseInt(request.substring("GET /".length(), request.lastIndexOf(' ')));
      return number & 0xff;
    } catch (NumberFormatException error) {
      return -1;
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (Socket connection : connections) {
      connection.close();
    }
  }
}
