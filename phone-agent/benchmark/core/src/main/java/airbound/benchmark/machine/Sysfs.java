// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.machine;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Linux' sensors, as files. On many Android phones and in virtual machines some are missing. */
public final class Sysfs {
  private final Path sys;

  /**
   * Reads below a directory.
   *
   * @param sys {@code /sys}
   */
  public Sysfs(Path sys) {
    this.sys = sys;
  }

  /** Adds what there is to a reading. */
  public void read(Reading.Builder reading) {
    Path processors = sys.resolve("devices/system/cpu");
    List<Long> frequencies = values(processors, "cpu[0-9]*", "cpufreq/scaling_cur_freq");
    List<Long> throttled = values(processors, "cpu[0-9]*", "thermal_throttle/core_throttle_count");
    List<Long> milliCelsius = values(sys.resolve("class/thermal"), "thermal_zone*", "temp");
    reading
        .frequencyKhz(largest(frequencies))
        .throttleEvents(throttled.isEmpty() ? null : sum(throttled))
        .temperatureCelsius(
            milliCelsius.isEmpty() ? null : Double.valueOf(largest(milliCelsius) / 1000.0));
  }

  /** Returns the numbers in all files {@code directory/GLOB/file} that can be read. */
  private static List<Long> values(Path directory, String glob, String file) {
    List<Long> values = new ArrayList<>();
    try (DirectoryStream<Path> found = Files.newDirectoryStream(directory, glob)) {
      for (Path one : found) {
        Long value = number(one.resolve(file));
        if (value != null) {
          values.add(value);
        }
      }
    } catch (IOException | DirectoryIteratorException | SecurityException error) {
      // Not there, or not for us: as a machine without sensors.
      return values;
    }
    return values;
  }

  private static Long number(Path file) {
    try {
      return Long.valueOf(new String(Files.readAllBytes(file), StandardCharsets.US_ASCII).trim());
    } catch (IOException | NumberFormatException | SecurityException error) {
      return null;
    }
  }

  private static Long largest(List<Long> values) {
    Long largest = null;
    for (Long value : values) {
      largest = largest == null ? value : Long.valueOf(Math.max(largest, value));
    }
    return largest;
  }

  private static long sum(List<Long> values) {
    long sum = 0;
    for (long value : values) {
      sum += value;
    }
    return sum;
  }
}
