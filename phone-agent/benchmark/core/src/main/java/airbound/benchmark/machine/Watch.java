// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.machine;

import airbound.benchmark.results.Doubt;
import java.io.Closeable;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Reads the sensors while a benchmark runs, four times a second. */
public final class Watch implements Closeable {
  private static final int PERIOD_MS = 250;

  private final Supplier<Reading> sensors;
  private final Thread thread;
  private final List<Reading> readings = new ArrayList<>();

  /** Begins to read. */
  public Watch(Supplier<Reading> sensors) {
    this.sensors = sensors;
    readings.add(sensors.get());
    thread = new Thread(this::watch, "airbound-benchmark sensors");
    thread.setDaemon(true);
    thread.start();
  }

  private void watch() {
    try {
      while (!Thread.currentThread().isInterrupted()) {
        Thread.sleep(PERIOD_MS);
        add(sensors.get());
      }
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void add(Reading reading) {
    readings.add(reading);
  }

  /** Returns why what was measured since the last call may be wrong. */
  public synchronized List<Doubt> doubts() {
    Reading last = sensors.get();
    readings.add(last);
    List<Doubt> doubts = Doubts.of(readings);
    readings.clear();
    readings.add(last);
    return doubts;
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
