// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Clock;
import airbound.benchmark.measure.Rounds;
import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;

/**
 * The virtual machine that a pass of drawing, HTTP and SQLite runs in. Standard input: the plan,
 * then the names of benchmarks, a line each; standard output: a line of JSON as each one ends.
 */
final class Child {
  private static final Gson GSON = new Gson();

  /** What a child reports: rates, or why there are none. */
  record Outcome(String id, List<Double> rates, String failed) {
    static Outcome parse(String line) {
      return GSON.fromJson(line, Outcome.class);
    }
  }

  private Child() {}

  /** Runs the benchmarks that standard input names. */
  public static void main(String[] arguments) throws IOException {
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      Plan plan = Plan.parse(in.readLine());
      List<String> ids = in.lines().toList();
      Map<String, Benchmark> benchmarks =
          plan.benchmarks().stream().collect(Collectors.toMap(one -> one.id, Function.identity()));
      Rounds rounds = new Rounds(plan.settings(), Clock.SYSTEM, plan.resolutionNs());
      for (String id : ids) {
        System.out.println(GSON.toJson(outcome(rounds, benchmarks.get(id))));
      }
    }
  }

  private static Outcome outcome(Rounds rounds, Benchmark benchmark) {
    try {
      double[] rates = rounds.measure(benchmark);
      return new Outcome(benchmark.id, DoubleStream.of(rates).boxed().toList(), null);
    } catch (IOException error) {
      return new Outcome(benchmark.id, null, error.getMessage());
    }
  }
}
