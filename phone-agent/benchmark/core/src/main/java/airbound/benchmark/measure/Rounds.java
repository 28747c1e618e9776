// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.measure;

import java.io.IOException;
import java.util.Arrays;

/** Measures a benchmark in rounds. On Android this is all; on a JVM, JMH measures the kernels. */
public final class Rounds {
  /** A round lasts this many times the clock's resolution, so that reading it costs 0.1 %. */
  static final int RESOLUTIONS = 1000;

  private static final int REPETITIONS_MAX = 1 << 30;

  private final Clock clock;
  private final long roundNs;
  private final Settings settings;

  /** Measures by a clock. A round is longer than the settings say if the clock is coarse. */
  public Rounds(Settings settings, Clock clock, long resolutionNs) {
    this.settings = settings;
    this.clock = clock;
    this.roundNs = Math.max(settings.roundNs, RESOLUTIONS * resolutionNs);
  }

  /**
   * Measures a benchmark.
   *
   * @return the rate of each round, in the benchmark's unit
   * @throws WrongAnswerException an answer was wrong
   * @throws IOException the benchmark cannot be carried out here
   */
  public double[] measure(Benchmark benchmark) throws IOException {
    return benchmark.fixedRepetitions > 0 ? measureFixed(benchmark) : measureFilled(benchmark);
  }

  private double[] measureFilled(Benchmark benchmark) throws IOException {
    try (Workload workload = benchmark.open()) {
      int repetitions = calibrate(workload);
      double[] rates = new double[settings.rounds];
      for (int round = -settings.warmupRounds; round < rates.length; round++) {
        long elapsedNs = time(workload, repetitions);
        if (round >= 0) {
          rates[round] = rate(benchmark, repetitions, elapsedNs);
        } else {
          // The code becomes faster while it warms up.
          repetitions = scaled(repetitions, elapsedNs);
        }
      }
      return rates;
    }
  }

  /**
   * Rounds of a given size: no more than fit the time of the others, but one in any case. A round
   * that takes long waits for storage; then it is not repeated, and what warms up is a small part.
   */
  private double[] measureFixed(Benchmark benchmark) throws IOException {
    int count = settings.warmupRounds + settings.rounds;
    double[] rates = new double[count];
    int measured = 0;
    for (long spentNs = 0; measured < count && spentNs < count * roundNs; measured++) {
      try (Workload workload = benchmark.open()) {
        long elapsedNs = time(workload, benchmark.fixedRepetitions);
        rates[measured] = rate(benchmark, benchmark.fixedRepetitions, elapsedNs);
        spentNs += elapsedNs;
      }
    }
    return Arrays.copyOfRange(rates, Math.min(settings.warmupRounds, measured - 1), measured);
  }

  private static double rate(Benchmark benchmark, int repetitions, long elapsedNs) {
    return repetitions * benchmark.workPerRepetition / (elapsedNs / 1e9);
  }

  /** Returns how many repetitions fill a round. */
  private int calibrate(Workload workload) throws IOException {
    int repetitions = 1;
    while (true) {
      long elapsedNs = time(workload, repetitions);
      // A tenth of a round is long enough to estimate the rest.
      if (elapsedNs >= roundNs / 10 || repetitions == REPETITIONS_MAX) {
        return scaled(repetitions, elapsedNs);
      }
      repetitions *= 2;
    }
  }

  private int scaled(int repetitions, long elapsedNs) {
    double wanted = Math.ceil((double) repetitions * roundNs / Math.max(elapsedNs, 1));
    return (int) Math.max(1, Math.min(wanted, REPETITIONS_MAX));
  }

  private long time(Workload workload, int repetitions) throws IOException {
    long beganNs = clock.nowNs();
    workload.run(repetitions);
    long elapsedNs = Math.max(clock.nowNs() - beganNs, 1);
    workload.check();
    return elapsedNs;
  }
}
