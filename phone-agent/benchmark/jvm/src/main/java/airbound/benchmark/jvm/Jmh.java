// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Measures a kernel by JMH, in a virtual machine that JMH starts. */
final class Jmh {
  private Jmh() {}

  /**
   * Measures one pass.
   *
   * @return the rate of each round, in the kernel's unit
   * @throws IOException the answer was wrong or the virtual machine failed; the message says which
   */
  static double[] measure(Benchmark kernel, Mode mode, Settings settings) throws IOException {
    // Several may run on one machine: a lock of JMH's own would fail the second.
    System.setProperty("jmh.ignoreLock", "true");
    Path log = Files.createTempFile("airbound-benchmark-", ".log");
    try {
      Options options =
          new OptionsBuilder()
              .include("^" + KernelBenchmark.class.getName().replace(".", "\\.") + "\\.run$")
              .param("id", kernel.id)
              .forks(1)
              .warmupForks(0)
              .warmupIterations(settings.warmupRounds)
              .warmupTime(TimeValue.nanoseconds(settings.roundNs))
              .measurementIterations(settings.rounds)
              .measurementTime(TimeValue.nanoseconds(settings.roundNs))
              .jvmArgs(mode.options().toArray(String[]::new))
              .shouldFailOnError(true)
              .verbosity(VerboseMode.NORMAL)
              .output(log.toString())
              .build();
      return rates(new Runner(options).runSingle(), kernel.workPerRepetition);
    } catch (RunnerException error) {
      throw new IOException(why(log, error), error);
    } finally {
      Files.deleteIfExists(log);
    }
  }

  private static double[] rates(RunResult run, double workPerRepetition) {
    List<BenchmarkResult> forks = List.copyOf(run.getBenchmarkResults());
    return forks.get(0).getIterationResults().stream()
        .mapToDouble(Jmh::perSecond)
        .map(perSecond -> perSecond * workPerRepetition)
        .toArray();
  }

  private static double perSecond(IterationResult iteration) {
    return iteration.getPrimaryResult().getScore();
  }

  /** JMH writes the exception of a virtual machine to its log only. */
  private static String why(Path log, RunnerException error) throws IOException {
    List<String> lines = Files.readAllLines(log);
    return lines.stream()
        .filter(line -> line.contains("Exception: "))
        .map(line -> line.substring(line.indexOf("Exception: ") + "Exception: ".length()))
        .findFirst()
        .orElseGet(
            () ->
                error.getMessage()
                    + ": "
                    + lines.stream()
                        .filter(line -> !line.isBlank())
                        .skip(Math.max(0, lines.stream().filter(l -> !l.isBlank()).count() - 3))
                        .collect(Collectors.joining(" / ")));
  }
}
