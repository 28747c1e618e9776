// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import airbound.benchmark.machine.Reading;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MachineTest {
  @Test
  void thisMachineIsDescribed() {
    Map<String, String> machine = Machine.describe("/proc");
    assertEquals("proc", machine.get("sqlite_file_system"));
    assertTrue(machine.get("system").startsWith("Linux "), machine.toString());
  }

  /** The kernel's own files have no line that stops the reading. */
  @Test
  void thisMachinesTimesAreRead() {
    Reading reading = Machine.sensors().get();
    assertTrue(reading.othersNs != null && reading.stolenNs != null);
  }

  @Test
  void ourOwnTimeIsNotOthers(@TempDir Path proc) throws IOException {
    Files.writeString(proc.resolve("stat"), "cpu  1000 200 9 9 9 9 9 30 0 0\ncpu0 1 1\n");
    Path own = Files.createDirectories(proc.resolve(ProcessHandle.current().pid() + ""));
    // As /proc/PID/stat: the name may have blanks, and one number is larger than a long.
    Files.writeString(
        own.resolve("stat"),
        "1 (a ) b) S 1 1 1 0 -1 4194560 1 0 0 0 300 5 40 6 20 0 1 0 9 9 9 18446744073709551615\n");
    Reading.Builder reading = new Reading.Builder(0);
    new Processes(proc).read(reading);
    assertEquals((1200 - 340) * 10_000_000L, reading.build().othersNs);
    assertEquals(30 * 10_000_000L, reading.build().stolenNs);
  }

  @Test
  void withoutProcNothingIsKnown(@TempDir Path empty) {
    Reading.Builder reading = new Reading.Builder(0);
    new Processes(empty).read(reading);
    assertNull(reading.build().othersNs);
  }
}
