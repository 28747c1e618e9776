// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code airbound-benchmark compare}. */
@Command(
    name = "compare",
    description = {
      "Compares two files of results. What was noisy in either is not compared;",
      "then the exit status is 3."
    },
    mixinStandardHelpOptions = true)
final class CompareCommand implements Callable<Integer> {
  @Parameters(index = "0", description = "The first file of results.")
  private Path first;

  @Parameters(index = "1", description = "The second.")
  private Path second;

  @Override
  public Integer call() {
    Comparison comparison = new Comparison(ReportFiles.read(first), ReportFiles.read(second));
    System.out.print(comparison.text());
    return comparison.whole() ? 0 : Main.REFUSED;
  }
}
