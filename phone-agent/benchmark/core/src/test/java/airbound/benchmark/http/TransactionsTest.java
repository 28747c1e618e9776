// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class TransactionsTest {
  private static final String OK = "HTTP/1.1 200 OK\r\n";

  private static InetSocketAddress loopback() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }

  /** A server that gives every connection the same answer, whatever it is asked, and ends it. */
  private static final class Wrong implements AutoCloseable {
    final ServerSocket listener;
    private final byte[] answer;

    Wrong(byte[] answer) throws IOException {
      this.answer = answer.clone();
      listener = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
      Thread thread = new Thread(this::serve);
      thread.setDaemon(true);
      thread.start();
    }

    private void serve() {
      while (!listener.isClosed()) {
        try (Socket connection = listener.accept()) {
          InputStream in = connection.getInputStream();
          String line = Lines.read(in);
          while (line != null && !line.isEmpty()) {
            line = Lines.read(in);
          }
          connection.getOutputStream().write(answer);
        } catch (IOException error) {
          // The next connection may go better.
        }
      }
    }

    InetSocketAddress address() {
      return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    @Override
    public void close() throws IOException {
      listener.close();
    }
  }

  @Test
  void allKindsOfTransactionsSucceed() throws IOException {
    try (ByteServer server = new ByteServer(loopback())) {
      List<Benchmark> benchmarks = Transactions.benchmarks(server.address());
      assertEquals(
          List.of("http/new-1", "http/new-8", "http/kept-1", "http/kept-8"),
          benchmarks.stream().map(benchmark -> benchmark.id).toList());
      for (Benchmark benchmark : benchmarks) {
        try (Workload workload = benchmark.open()) {
          // More than 256, so that every octet comes.
          workload.run(300);
          workload.check();
        }
      }
    }
  }

  @Test
  void eachClientCounts() throws IOException {
    for (Benchmark benchmark : Transactions.benchmarks(loopback())) {
      assertEquals(benchmark.id.endsWith("8") ? 8 : 1, benchmark.workPerRepetition);
    }
  }

  static Stream<List<String>> wrongAnswers() {
    return Stream.of(
        List.of(OK + "Content-Length: 2\r\n\r\n\0\0", "answered 2 octets, not 1"),
        List.of(OK + "Content-Length: 0\r\n\r\n", "answered 0 octets, not 1"),
        List.of(OK + "\r\n\0", "answered without Content-Length, not 1"),
        List.of(OK + "Content-Length: 1\r\n\r\n\0\0", "answered more than 1 octet"),
        List.of(OK + "Content-Length: 1\r\n\r\nx", "answered the octet 120, not 0"),
        List.of(OK + "Content-Length: 1\r\n\r\n", "answered the octet -1, not 0"));
  }

  @ParameterizedTest
  @MethodSource("wrongAnswers")
  void anotherAnswerIsWrong(List<String> answer) throws IOException {
    try (Wrong server = new Wrong(answer.get(0).getBytes(StandardCharsets.ISO_8859_1));
        Fetcher fetcher = new Fetcher(server.address(), false)) {
      WrongAnswerException error = assertThrows(WrongAnswerException.class, () -> fetcher.fetch(0));
      assertTrue(error.getMessage().endsWith(answer.get(1)), error.getMessage());
      assertTrue(error.getMessage().contains(":" + server.address().getPort()));
    }
  }

  static Stream<List<String>> noAnswers() {
    return Stream.of(
        List.of("", "closed the connection without an answer"),
        List.of("HTTP/1.1 404 Not Found\r\n\r\n", "answered \"HTTP/1.1 404 Not Found\""),
        List.of("SSH-2.0-x\r\n", "answered \"SSH-2.0-x\""),
        List.of(OK + "Content-Length: one\r\n\r\n", "answered the Content-Length \"one\""),
        List.of(OK + "Content-Le", "the connection ended within a line"),
        List.of("x".repeat(9000), "a line is longer than 8192 octets"));
  }

  @ParameterizedTest
  @MethodSource("noAnswers")
  void whatIsNoAnswerIsNamed(List<String> answer) throws IOException {
    try (Wrong server = new Wrong(answer.get(0).getBytes(StandardCharsets.ISO_8859_1));
        Fetcher fetcher = new Fetcher(server.address(), true)) {
      IOException error = assertThrows(IOException.class, () -> fetcher.fetch(0));
      assertFalse(error instanceof WrongAnswerException);
      assertTrue(error.getMessage().endsWith(answer.get(1)), error.getMessage());
    }
  }

  /** Whatever a server sends: an IOException, within the time that it takes to arrive. */
  @Test
  void anyOctetsAreAnError() throws IOException {
    Random random = new Random(1);
    for (int round = 0; round < 200; round++) {
      byte[] answer = new byte[random.nextInt(200)];
      random.nextBytes(answer);
      try (Wrong server = new Wrong(answer);
          Fetcher fetcher = new Fetcher(server.address(), false)) {
        assertThrows(IOException.class, () -> fetcher.fetch(0));
      }
    }
  }

  @Test
  void aServerThatHasGoneIsNamed() throws IOException {
    InetSocketAddress gone;
    try (ByteServer server = new ByteServer(loopback())) {
      gone = server.address();
    }
    for (Benchmark benchmark : Transactions.benchmarks(gone)) {
      try (Workload workload = benchmark.open()) {
        IOException error = assertThrows(IOException.class, () -> workload.run(2));
        assertTrue(error.getMessage().startsWith("HTTP server "), error.getMessage());
        assertTrue(error.getMessage().contains("refused"), error.getMessage());
      }
    }
  }

  @Test
  void aServerThatEndsWithinARunIsNamed() throws IOException {
    ByteServer server = new ByteServer(loopback());
    try (Fetcher fetcher = new Fetcher(server.address(), true)) {
      try (server) {
        fetcher.fetch(1);
      }
      IOException error = assertThrows(IOException.class, () -> fetcher.fetch(2));
      assertTrue(error.getMessage().startsWith("HTTP server "), error.getMessage());
    }
  }

  /** Requests of any octets end their connection; the server goes on. */
  @Test
  void theServerOutlivesAnyRequest() throws IOException {
    Random random = new Random(2);
    try (ByteServer server = new ByteServer(loopback())) {
      for (int round = 0; round < 100; round++) {
        byte[] request = new byte[random.nextInt(300)];
        random.nextBytes(request);
        try (Socket connection = new Socket()) {
          connection.connect(server.address());
          connection.getOutputStream().write(request);
        }
      }
      try (Fetcher fetcher = new Fetcher(server.address(), false)) {
        fetcher.fetch(255);
      }
    }
  }

  @Test
  void aRequestForSomethingElseIsRefused() throws IOException {
    try (ByteServer server = new ByteServer(loopback());
        Socket connection = new Socket()) {
      connection.connect(server.address());
      byte[] request = "GET /x HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1);
      connection.getOutputStream().write(request);
      assertEquals("HTTP/1.1 400 Bad Request", Lines.read(connection.getInputStream()));
    }
  }

  @Test
  void anAddressInUseIsNamed() throws IOException {
    try (ByteServer server = new ByteServer(loopback())) {
      IOException error =
          assertThrows(IOException.class, () -> new ByteServer(server.address()).close());
      assertTrue(error.getMessage().startsWith("listen on "), error.getMessage());
    }
  }
}
