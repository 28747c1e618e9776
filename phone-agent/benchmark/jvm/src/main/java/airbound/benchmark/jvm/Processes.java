// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.machine.Reading;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * Processor time of the machine's other programs, in user mode: what kernels do for our packets and
 * files is counted for nobody.
 */
final class Processes {
  /** Of /proc's times: USER_HZ, 100 on every processor that a JVM runs on. */
  private static final long TICK_NS = 10_000_000;

  private final Path proc;

  /**
   * Reads below a directory.
   *
   * @param proc {@code /proc}
   */
  Processes(Path proc) {
    this.proc = proc;
  }

  /** Adds the times of other programs and of a hypervisor to a reading, if there is a /proc. */
  void read(Reading.Builder reading) {
    try {
      // First our own: what runs in between is then others', never less than nothing.
      long ours = ours();
      String[] machine = words(Files.readString(proc.resolve("stat")));
      // cpu user nice system idle iowait irq softirq steal
      long all = Long.parseLong(machine[1]) + Long.parseLong(machine[2]);
      reading.othersNs((all - ours) * TICK_NS).stolenNs(Long.parseLong(machine[8]) * TICK_NS);
    } catch (IOException error) {
      // No Linux: nothing is known.
      return;
    }
  }

  /** Returns user time of this process, its descendants, and those of them that have ended. */
  private long ours() {
    ProcessHandle self = ProcessHandle.current();
    return Stream.concat(Stream.of(self), self.descendants())
        .mapToLong(one -> ticks(one.pid()))
        .sum();
  }

  private long ticks(long pid) {
    try {
      String stat = Files.readString(proc.resolve(pid + "/stat"));
      // Behind the name, which may have blanks: fields 3 and on. 14 is utime, 16 is cutime.
      String[] fields = words(stat.substring(stat.lastIndexOf(')') + 2));
      return Long.parseLong(fields[14 - 3]) + Long.parseLong(fields[16 - 3]);
    } catch (IOException error) {
      // It has just ended.
      return 0;
    }
  }

  private static String[] words(String line) {
    return line.trim().split("\\s+");
  }
}
