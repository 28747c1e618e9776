// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.results;

import airbound.benchmark.measure.Benchmark;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The results of one virtual machine, in one way of executing: all in the order of the plan. */
public final class Run {
  /** {@code jit}, {@code c1}, {@code interpreter}, or {@code art}. */
  public final String mode;

  private final List<Result> results = new ArrayList<>();

  /** A run without results yet. */
  public Run(String mode, List<Benchmark> plan) {
    this.mode = mode;
    for (Benchmark benchmark : plan) {
      results.add(new Result(benchmark.id, benchmark.unit));
    }
  }

  /** Returns the results. */
  public List<Result> results() {
    return Collections.unmodifiableList(results);
  }

  /** Returns whether nothing is missing, as it may be in a run that was read from a file. */
  boolean whole() {
    if (mode == null || results == null) {
      return false;
    }
    for (Result result : results) {
      if (result == null || !result.whole()) {
        return false;
      }
    }
    return true;
  }

  /** Returns a benchmark's result; null if the run has no such benchmark. */
  public Result result(String id) {
    for (Result result : results) {
      if (result.id.equals(id)) {
        return result;
      }
    }
    return null;
  }
}
