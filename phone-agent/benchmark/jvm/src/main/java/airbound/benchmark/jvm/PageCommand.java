// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code airbound-benchmark page}. */
@Command(
    name = "page",
    description = "Draws a file of results as a page of HTML, beside the paper's figures.",
    mixinStandardHelpOptions = true)
final class PageCommand implements Callable<Integer> {
  @Parameters(index = "0", description = "The file of results.")
  private Path results;

  @Parameters(index = "1", description = "The page to write.")
  private Path page;

  @Override
  public Integer call() throws IOException {
    ReportFiles.write(page, Page.html(ReportFiles.read(results)));
    return 0;
  }
}
