// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.results;

import airbound.benchmark.machine.Watch;
import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Rounds;
import java.io.IOException;
import java.util.List;

/** Passes where there is one virtual machine only, as on Android. */
public final class InProcess {
  /** Takes a run after each benchmark. */
  public interface Sink {
    /**
     * Keeps or shows what there is.
     *
     * @throws IOException it cannot be kept; then nothing more is measured
     */
    void changed() throws IOException;
  }

  private final List<Benchmark> plan;
  private final Rounds rounds;
  private final Watch watch;

  /** Passes of a plan. */
  public InProcess(List<Benchmark> plan, Rounds rounds, Watch watch) {
    this.plan = plan;
    this.rounds = rounds;
    this.watch = watch;
  }

  /**
   * Measures so many passes into a run, until its thread is interrupted.
   *
   * @throws IOException the sink's
   */
  public void run(Run run, int passes, Sink sink) throws IOException {
    for (int pass = 0; pass < passes; pass++) {
      for (Benchmark benchmark : plan) {
        Result result = run.result(benchmark.id);
        if (Thread.currentThread().isInterrupted()) {
          return;
        }
        if (result.failed() == null) {
          watch.doubts();
          measure(benchmark, result);
          sink.changed();
        }
      }
    }
  }

  private void measure(Benchmark benchmark, Result result) {
    try {
      result.add(new Pass(rounds.measure(benchmark), watch.doubts()));
    } catch (IOException error) {
      // An interrupted benchmark has not failed; it has no result of this pass.
      if (!Thread.currentThread().isInterrupted()) {
        result.fail(error.getMessage());
      }
    }
  }
}
