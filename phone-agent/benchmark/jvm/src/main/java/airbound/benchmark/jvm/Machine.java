// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.machine.Reading;
import airbound.benchmark.machine.Sysfs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

/** This machine: what it is, and its sensors. */
final class Machine {
  private Machine() {}

  /** Returns names and texts, in the order in which they are shown. */
  static Map<String, String> describe(String directory) {
    Map<String, String> machine = new LinkedHashMap<>();
    machine.put("processor", processor());
    machine.put("processors", String.valueOf(Runtime.getRuntime().availableProcessors()));
    machine.put(
        "system",
        String.join(
            " ",
            System.getProperty("os.name"),
            System.getProperty("os.version"),
            System.getProperty("os.arch")));
    machine.put(
        "java", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
    machine.put("sqlite_file_system", fileSystem(directory));
    return machine;
  }

  private static String processor() {
    try {
      return Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
          .filter(line -> line.startsWith("model name"))
          .map(line -> line.substring(line.indexOf(':') + 1).trim())
          .findFirst()
          .orElse("unknown");
    } catch (IOException error) {
      return "unknown";
    }
  }

  private static String fileSystem(String directory) {
    try {
      return Files.getFileStore(Path.of(directory)).type();
    } catch (IOException error) {
      return "unknown";
    }
  }

  /** Returns this machine's sensors. */
  static Supplier<Reading> sensors() {
    Sysfs sysfs = new Sysfs(Path.of("/sys"));
    Processes processes = new Processes(Path.of("/proc"));
    return () -> {
      Reading.Builder reading = new Reading.Builder(System.nanoTime());
      sysfs.read(reading);
      processes.read(reading);
      return reading.build();
    };
  }
}
