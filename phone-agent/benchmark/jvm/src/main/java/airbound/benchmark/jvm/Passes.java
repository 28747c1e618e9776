// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.machine.Watch;
import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.results.Pass;
import airbound.benchmark.results.Result;
import airbound.benchmark.results.Run;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** Runs passes: kernels by JMH, everything else by {@link Child}, each in a new virtual machine. */
final class Passes {
  private final Plan plan;
  private final Watch watch;
  private final Consumer<String> progress;

  /**
   * Runs passes of a plan.
   *
   * @param progress takes a line for each benchmark that ends
   */
  Passes(Plan plan, Watch watch, Consumer<String> progress) {
    this.plan = plan;
    this.watch = watch;
    this.progress = progress;
  }

  /** Measures each benchmark once. One that fails, now or in an earlier pass, has no result. */
  void run(Mode mode, Run run) {
    List<Result> others = new ArrayList<>();
    watch.doubts();
    for (Benchmark benchmark : plan.benchmarks()) {
      Result result = run.result(benchmark.id);
      if (result.failed() != null) {
        continue;
      }
      if (!benchmark.id.startsWith("cpu/")) {
        others.add(result);
        continue;
      }
      try {
        add(mode, result, Jmh.measure(benchmark, mode, plan.settings()));
      } catch (IOException error) {
        fail(mode, result, error.getMessage());
      }
    }
    if (!others.isEmpty()) {
      runChild(mode, others);
    }
  }

  private void runChild(Mode mode, List<Result> results) {
    List<Result> waiting = new ArrayList<>(results);
    String why = "its process ended";
    Path log = null;
    try {
      log = Files.createTempFile("airbound-benchmark-", ".log");
      Process child = start(mode, results, log);
      try (BufferedReader out = child.inputReader(StandardCharsets.UTF_8)) {
        for (String line = out.readLine(); line != null; line = out.readLine()) {
          take(mode, waiting.remove(0), Child.Outcome.parse(line));
        }
        why = "its process ended with " + child.waitFor() + ": " + end(log);
      } finally {
        child.destroyForcibly();
      }
    } catch (IOException | RuntimeException error) {
      why = "its process failed: " + error.getMessage();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      why = "interrupted";
    } finally {
      remove(log);
    }
    for (Result result : waiting) {
      fail(mode, result, why);
    }
  }

  private Process start(Mode mode, List<Result> results, Path log) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(mode.options());
    command.add("-Djava.awt.headless=true");
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(Child.class.getName());
    Process child = new ProcessBuilder(command).redirectError(log.toFile()).start();
    try (BufferedWriter in = child.outputWriter(StandardCharsets.UTF_8)) {
      in.write(plan.json() + "\n");
      for (Result result : results) {
        in.write(result.id + "\n");
      }
    }
    return child;
  }

  private void take(Mode mode, Result result, Child.Outcome outcome) {
    if (!result.id.equals(outcome.id())) {
      throw new IllegalStateException("it answered " + outcome.id() + ", not " + result.id);
    }
    if (outcome.failed() != null) {
      fail(mode, result, outcome.failed());
    } else {
      add(mode, result, outcome.rates().stream().mapToDouble(rate -> rate).toArray());
    }
  }

  private void add(Mode mode, Result result, double[] rates) {
    Pass pass = new Pass(rates, watch.doubts());
    result.add(pass);
    progress.accept(
        mode.title() + " " + result.id + ": " + Numbers.text(pass.median()) + " " + result.unit);
  }

  private void fail(Mode mode, Result result, String why) {
    watch.doubts();
    result.fail(why);
    progress.accept(mode.title() + " " + result.id + ": FAILED: " + why);
  }

  private static String end(Path log) throws IOException {
    List<String> lines = Files.readAllLines(log);
    return lines.stream().skip(Math.max(0, lines.size() - 3)).collect(Collectors.joining(" / "));
  }

  private static void remove(Path log) {
    try {
      if (log != null) {
        Files.deleteIfExists(log);
      }
    } catch (IOException error) {
      // A file of the temporary directory is left.
      return;
    }
  }
}
