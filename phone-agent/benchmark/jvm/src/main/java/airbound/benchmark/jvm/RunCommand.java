// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.http.Addresses;
import airbound.benchmark.http.ByteServer;
import airbound.benchmark.machine.Watch;
import airbound.benchmark.measure.Clock;
import airbound.benchmark.measure.Settings;
import airbound.benchmark.results.Report;
import airbound.benchmark.results.Result;
import airbound.benchmark.results.Run;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code airbound-benchmark run}. */
@Command(
    name = "run",
    description = {
      "Measures. Each pass of each mode is a virtual machine of its own. Exit status 1 if a",
      "benchmark failed: the others' results are there nevertheless."
    },
    mixinStandardHelpOptions = true)
final class RunCommand implements Callable<Integer> {
  private static final long MS_NS = 1_000_000;

  @Option(names = "--json", description = "Write the results to this file, after each pass.")
  private Path json;

  @Option(names = "--page", description = "Write a page of HTML to this file.")
  private Path page;

  @Option(
      names = "--modes",
      split = ",",
      description = "Of ${COMPLETION-CANDIDATES}; all are the default.",
      defaultValue = "JIT,C1,INTERPRETER")
  private List<Mode> modes;

  @Option(
      names = "--only",
      split = ",",
      description = "Only benchmarks whose names begin so: cpu, http/new, sqlite/insert-tens.")
  private List<String> only = List.of();

  @Option(names = "--passes", description = "Default ${DEFAULT-VALUE}.", defaultValue = "5")
  private int passes;

  @Option(
      names = "--warmup-rounds",
      description = "Rounds of each pass that do not count; default ${DEFAULT-VALUE}.",
      defaultValue = "3")
  private int warmupRounds;

  @Option(
      names = "--rounds",
      description = "Rounds of each pass that count; default ${DEFAULT-VALUE}.",
      defaultValue = "5")
  private int rounds;

  @Option(
      names = "--round-ms",
      description = "How long a round lasts; default ${DEFAULT-VALUE}.",
      defaultValue = "200")
  private int roundMs;

  @Option(
      names = "--rows",
      description = "Rows of SQLite's table; default ${DEFAULT-VALUE}, as in the paper.",
      defaultValue = "10000")
  private int rows;

  @Option(
      names = "--selects",
      description = "Selects in a round: 10000 in the paper; by default as many as fill it.",
      defaultValue = "0")
  private int selects;

  @Option(
      names = "--directory",
      description = "Where SQLite's file is made; default ${DEFAULT-VALUE}. Not a tmpfs.",
      defaultValue = ".")
  private String directory;

  @Option(
      names = "--server",
      description = "HOST:PORT of an `airbound-benchmark serve`; by default one is started here.")
  private String server;

  @Override
  public Integer call() throws IOException {
    long resolutionNs = Clock.resolutionNs(Clock.SYSTEM);
    Settings settings = new Settings(passes, warmupRounds, rounds, roundMs * MS_NS);
    if (server != null) {
      return run(settings, resolutionNs, Addresses.parse(server));
    }
    try (ByteServer own =
        new ByteServer(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
      InetSocketAddress address = own.address();
      return run(
          settings,
          resolutionNs,
          InetSocketAddress.createUnresolved(
              address.getAddress().getHostAddress(), address.getPort()));
    }
  }

  private int run(Settings settings, long resolutionNs, InetSocketAddress address)
      throws IOException {
    Plan plan =
        new Plan(
            settings,
            resolutionNs,
            directory,
            address.getHostString(),
            address.getPort(),
            rows,
            selects,
            only);
    if (plan.benchmarks().isEmpty()) {
      throw new IllegalArgumentException("no benchmark's name begins with " + only);
    }
    String began = Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    Report report =
        new Report(began, Machine.describe(directory), settings, resolutionNs, rows, selects);
    for (Mode mode : modes) {
      report.add(new Run(mode.title(), plan.benchmarks()));
    }
    // Before anything is measured: whether the file can be written.
    write(report);
    try (Watch watch = new Watch(Machine.sensors())) {
      Passes measuring = new Passes(plan, watch, System.err::println);
      for (int pass = 0; pass < passes; pass++) {
        for (Mode mode : modes) {
          measuring.run(mode, report.run(mode.title()));
          write(report);
        }
      }
    }
    report.end();
    write(report);
    if (page != null) {
      ReportFiles.write(page, Page.html(report));
    }
    System.out.print(Table.text(report));
    boolean failed =
        report.runs().stream()
            .flatMap(run -> run.results().stream())
            .map(Result::failed)
            .anyMatch(why -> why != null);
    return failed ? Main.FAILED : 0;
  }

  private void write(Report report) throws IOException {
    if (json != null) {
      ReportFiles.write(json, report.json());
    }
  }
}
