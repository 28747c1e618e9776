// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.measure;

import java.io.IOException;

/** What a benchmark repeats and times. Used by one thread. */
public interface Workload extends AutoCloseable {
  /**
   * Does the work; this is what is timed.
   *
   * @param repetitions how many times, at least 1
   * @throws WrongAnswerException an answer was wrong; no time that was measured may be used
   * @throws IOException the benchmark cannot be carried out here
   */
  void run(int repetitions) throws IOException;

  /**
   * Checks the answers of the last run that {@link #run} does not check itself; not timed.
   *
   * @throws WrongAnswerException an answer was wrong; no time that was measured may be used
   * @throws IOException the benchmark cannot be carried out here
   */
  void check() throws IOException;

  /** Releases what the benchmark has opened. */
  @Override
  default void close() throws IOException {}
}
