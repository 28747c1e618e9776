// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command {@code airbound-benchmark}. */
@Command(
    name = "airbound-benchmark",
    description = "Measures CPU, drawing, HTTP and SQLite as Hattori and Yamaguchi did.",
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class,
    subcommands = {
      RunCommand.class,
      CompareCommand.class,
      PageCommand.class,
      ServeCommand.class,
    })
public final class Main {
  /** A benchmark failed, or the results could not be written. */
  static final int FAILED = 1;

  /** An argument or a file is wrong. */
  static final int USAGE = 2;

  /** Some benchmarks were not compared. */
  static final int REFUSED = 3;

  private Main() {}

  /** Runs the command and ends with its status. */
  public static void main(String[] arguments) {
    System.exit(execute(arguments));
  }

  static int execute(String... arguments) {
    return new CommandLine(new Main())
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setExecutionExceptionHandler(
            (error, command, parsed) -> {
              command.getErr().println("airbound-benchmark: " + error.getMessage());
              return error instanceof IllegalArgumentException ? USAGE : FAILED;
            })
        .execute(arguments);
  }

  /** The version of the jar. */
  static final class Version implements CommandLine.IVersionProvider {
    @Override
    public String[] getVersion() {
      String version = Main.class.getPackage().getImplementationVersion();
      return new String[] {version == null ? "unknown" : version};
    }
  }
}
