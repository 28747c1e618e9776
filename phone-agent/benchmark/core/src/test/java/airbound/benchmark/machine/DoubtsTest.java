// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import airbound.benchmark.results.Doubt;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class DoubtsTest {
  private static final long SECOND_NS = 1_000_000_000;

  private static List<Doubt.Code> codes(Reading.Builder... readings) {
    List<Reading> built = new ArrayList<>();
    for (Reading.Builder reading : readings) {
      built.add(reading.build());
    }
    return Doubts.of(built).stream().map(doubt -> doubt.code).toList();
  }

  private static Reading.Builder at(long seconds) {
    return new Reading.Builder(seconds * SECOND_NS);
  }

  @Test
  void aMachineWithoutSensorsIsNotDoubted() {
    assertEquals(List.of(), codes(at(0), at(1)));
    assertEquals(List.of(), codes(at(0)));
    assertEquals(List.of(), codes());
  }

  @Test
  void throttlingIsNoticed() {
    assertEquals(List.of(), codes(at(0).throttleEvents(7L), at(1).throttleEvents(7L)));
    assertEquals(
        List.of(Doubt.Code.THROTTLED), codes(at(0).throttleEvents(7L), at(1).throttleEvents(8L)));
    assertEquals(List.of(), codes(at(0).thermalStatus(0), at(1).thermalStatus(1)));
    assertEquals(
        List.of(Doubt.Code.THERMAL_STATUS),
        codes(at(0).thermalStatus(0), at(1).thermalStatus(2), at(2).thermalStatus(0)));
  }

  @Test
  void aFrequencyThatFallsIsNoticed() {
    assertEquals(List.of(), codes(frequencies(800, 2000, 2000, 2000, 1900, 2000)));
    assertEquals(
        List.of(Doubt.Code.FREQUENCY), codes(frequencies(2000, 2000, 2000, 1700, 1700, 1700)));
    // Too short to say.
    assertEquals(List.of(), codes(frequencies(2000, 1000)));
  }

  private static Reading.Builder[] frequencies(long... megahertz) {
    return LongStream.of(megahertz)
        .mapToObj(each -> at(0).frequencyKhz(each * 1000))
        .toArray(Reading.Builder[]::new);
  }

  @Test
  void aScreenThatIsOffIsNoticed() {
    assertEquals(List.of(), codes(at(0).screenOn(true), at(1).screenOn(true)));
    assertEquals(
        List.of(Doubt.Code.SCREEN_OFF), codes(at(0).screenOn(true), at(1).screenOn(false)));
  }

  @Test
  void loadOfOthersIsNoticed() {
    assertEquals(List.of(), codes(at(0).othersNs(0L), at(10).othersNs(SECOND_NS)));
    assertEquals(
        List.of(Doubt.Code.OTHER_LOAD), codes(at(0).othersNs(0L), at(10).othersNs(2 * SECOND_NS)));
    assertEquals(List.of(Doubt.Code.STOLEN), codes(at(0).stolenNs(0L), at(10).stolenNs(SECOND_NS)));
  }

  @Test
  void aReasonHasItsValueAndLimit() {
    assertEquals(
        "the processors' frequency fell to 85 % (limit 90 %)",
        new Doubt(Doubt.Code.FREQUENCY, 0.85, 0.9).text());
    for (Doubt.Code code : Doubt.Code.values()) {
      assertEquals(-1, new Doubt(code, 1, 2).text().indexOf("null"));
    }
  }

  @Test
  void sysfsIsRead(@TempDir Path sys) throws IOException {
    write(sys.resolve("devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"), "1800000\n");
    write(sys.resolve("devices/system/cpu/cpu1/cpufreq/scaling_cur_freq"), "2400000\n");
    write(sys.resolve("devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"), "3\n");
    write(sys.resolve("devices/system/cpu/cpu1/thermal_throttle/core_throttle_count"), "4\n");
    write(sys.resolve("class/thermal/thermal_zone0/temp"), "41500\n");
    write(sys.resolve("class/thermal/thermal_zone1/temp"), "no number\n");
    Files.createDirectories(sys.resolve("class/thermal/thermal_zone2/temp"));
    Reading reading = read(sys);
    assertEquals(2_400_000L, reading.frequencyKhz);
    assertEquals(7L, reading.throttleEvents);
    assertEquals(41.5, reading.temperatureCelsius);
  }

  @Test
  void aMachineWithoutSysfsHasNothing(@TempDir Path empty) {
    Reading reading = read(empty);
    assertNull(reading.frequencyKhz);
    assertNull(reading.throttleEvents);
    assertNull(reading.temperatureCelsius);
  }

  private static Reading read(Path sys) {
    Reading.Builder reading = at(0);
    new Sysfs(sys).read(reading);
    return reading.build();
  }

  private static void write(Path file, String text) throws IOException {
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  /** Each call reports what happened since the last one. */
  @Test
  void aWatchReportsWhatHappenedSince() {
    long[] throttled = {0};
    try (Watch watch = new Watch(() -> at(0).throttleEvents(throttled[0]).build())) {
      assertEquals(0, watch.doubts().size());
      throttled[0] = 2;
      assertEquals(Doubt.Code.THROTTLED, watch.doubts().get(0).code);
      assertEquals(0, watch.doubts().size());
    }
  }
}
