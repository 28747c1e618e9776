// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import airbound.benchmark.results.Report;
import airbound.benchmark.results.Result;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command as it is run: a process, its output, its exit status, its files. */
final class MainTest {
  private static final List<String> SHORT =
      List.of("--passes", "1", "--warmup-rounds", "0", "--rounds", "1", "--round-ms", "1");

  @TempDir private Path directory;

  private record Ended(int status, String out, String errors) {}

  private static List<String> java() {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:TieredStopAtLevel=1",
        "-cp",
        System.getProperty("java.class.path"),
        Main.class.getName());
  }

  private Ended command(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(java());
    command.addAll(List.of(arguments));
    return execute(command);
  }

  private Ended run(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(java());
    command.addAll(List.of("run", "--rows", "50", "--directory", directory.toString()));
    command.addAll(SHORT);
    command.addAll(List.of(arguments));
    return execute(command);
  }

  private Ended execute(List<String> command) throws IOException, InterruptedException {
    Path out = directory.resolve("out");
    Path errors = directory.resolve("errors");
    int status =
        new ProcessBuilder(command)
            .redirectOutput(out.toFile())
            .redirectError(errors.toFile())
            .start()
            .waitFor();
    return new Ended(status, Files.readString(out), Files.readString(errors));
  }

  private String file(String name) {
    return directory.resolve(name).toString();
  }

  @Test
  void aRunMeasuresEverythingInEveryMode() throws IOException, InterruptedException {
    Ended ended = run("--json", file("a.json"), "--page", file("a.html"));
    assertEquals(0, ended.status(), ended.out() + ended.errors());
    Report report = ReportFiles.read(Path.of(file("a.json")));
    assertTrue(report.complete());
    assertEquals(3, report.runs().size());
    for (Result result : report.runs().stream().flatMap(run -> run.results().stream()).toList()) {
      assertTrue(result.measured(), result.id);
    }
    assertEquals(19, report.run("c1").results().size());
    assertEquals(Table.text(report), ended.out());
    assertTrue(Files.readString(Path.of(file("a.html"))).contains("<svg"));
    assertEquals(0, command("page", file("a.json"), file("b.html")).status());
    assertEquals(
        Files.readString(Path.of(file("a.html"))), Files.readString(Path.of(file("b.html"))));
    // One pass has no spread.
    Ended compared = command("compare", file("a.json"), file("a.json"));
    assertEquals(Main.REFUSED, compared.status());
    assertTrue(compared.out().endsWith("0 compared, 57 not\n"), compared.out());
  }

  @Test
  void aServerOfTwoBytesFailsHttpAndNothingElse() throws IOException, InterruptedException {
    try (ServerSocket listener = new ServerSocket(0, 16, InetAddress.getLoopbackAddress())) {
      Thread server = new Thread(() -> answerTwoBytes(listener));
      server.setDaemon(true);
      server.start();
      Ended ended =
          run(
              "--modes",
              "c1",
              "--only",
              "http/new-1,sqlite/insert,drawing/lines",
              "--server",
              "127.0.0.1:" + listener.getLocalPort());
      assertEquals(Main.FAILED, ended.status());
      assertTrue(ended.out().contains("answered 2 octets, not 1"), ended.out());
      assertEquals(1, ended.out().split("FAILED", -1).length - 1, ended.out());
    }
  }

  private static void answerTwoBytes(ServerSocket listener) {
    while (!listener.isClosed()) {
      try (Socket connection = listener.accept()) {
        InputStream in = connection.getInputStream();
        byte[] request = new byte[1000];
        if (in.read(request) > 0) {
          connection
              .getOutputStream()
              .write(
                  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
                      .getBytes(StandardCharsets.US_ASCII));
        }
      } catch (IOException error) {
        // The next connection may go better.
      }
    }
  }

  @Test
  void aServerThatIsGoneFailsHttpAndNothingElse() throws IOException, InterruptedException {
    int port;
    try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = listener.getLocalPort();
    }
    Ended ended =
        run("--modes", "c1", "--only", "http/kept,drawing", "--server", "127.0.0.1:" + port);
    assertEquals(Main.FAILED, ended.status());
    assertEquals(2, ended.out().split("refused", -1).length - 1, ended.out());
    assertEquals(2, ended.out().split("FAILED", -1).length - 1, ended.out());
  }

  /** A file system of 64 kB that is really full, in a mount namespace of its own. */
  @Test
  void aFullDiskFailsSqliteAndNothingElse() throws IOException, InterruptedException {
    Path full = Files.createDirectory(directory.resolve("full"));
    List<String> command = new ArrayList<>();
    command.addAll(List.of("unshare", "--user", "--map-root-user", "--mount", "sh", "-c"));
    command.add("mount -t tmpfs -o size=64k tmpfs \"$0\" && exec \"$@\"");
    command.add(full.toString());
    command.addAll(java());
    command.addAll(List.of("run", "--rows", "2000", "--directory", full.toString()));
    command.addAll(List.of("--modes", "c1", "--only", "sqlite/insert-one,drawing/lines"));
    command.addAll(SHORT);
    Ended ended = execute(command);
    assertEquals(Main.FAILED, ended.status(), ended.errors());
    assertTrue(ended.out().contains("FAILED: SQLite in " + full), ended.out() + ended.errors());
    assertTrue(ended.out().contains("full"), ended.out());
    assertEquals(1, ended.out().split("FAILED", -1).length - 1, ended.out());
  }

  @Test
  void aFileThatCannotBeWrittenIsNamedBeforeAnythingIsMeasured()
      throws IOException, InterruptedException {
    Ended ended = run("--json", file("missing/a.json"));
    assertEquals(Main.FAILED, ended.status());
    assertTrue(
        ended.errors().startsWith("airbound-benchmark: write " + file("missing/a.json")),
        ended.errors());
    assertEquals("", ended.out());
  }

  @Test
  void wrongArgumentsAreNamed() throws IOException, InterruptedException {
    Files.writeString(Path.of(file("x")), "x");
    for (List<String> wrong :
        List.of(
            List.of("run", "--only", "gpu"),
            List.of("run", "--passes", "0"),
            List.of("run", "--rows", "0"),
            List.of("run", "--server", "nowhere"),
            List.of("run", "--modes", "jet"),
            List.of("compare", file("x"), file("x")),
            List.of("page", file("missing"), file("y")))) {
      Ended ended = command(wrong.toArray(String[]::new));
      assertEquals(Main.USAGE, ended.status(), wrong + ended.errors());
      assertTrue(!ended.errors().isEmpty() && !ended.errors().contains("\tat "), ended.errors());
    }
  }
}
