// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.machine;

import airbound.benchmark.results.Doubt;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * What readings of sensors say about a measurement: was the machine slowed down, or shared? Pure.
 */
public final class Doubts {
  /** Of the frequency at the beginning; governors move by less between rounds of the same load. */
  static final double FREQUENCY_PART_MIN = 0.9;

  /** The first status at which Android says that performance is reduced: moderate. */
  static final int THERMAL_STATUS_MAX = 1;

  /** Processors that others use; an idle Linux has 0.01 to 0.05. */
  static final double OTHERS_PROCESSORS_MAX = 0.15;

  /** Processors that a hypervisor gives to others. */
  static final double STOLEN_PROCESSORS_MAX = 0.05;

  private Doubts() {}

  /**
   * Returns the doubts.
   *
   * @param readings from the beginning to the end of a measurement
   */
  public static List<Doubt> of(List<Reading> readings) {
    List<Doubt> doubts = new ArrayList<>();
    if (readings.size() < 2) {
      return doubts;
    }
    Reading first = readings.get(0);
    Reading last = readings.get(readings.size() - 1);
    if (first.throttleEvents != null && last.throttleEvents != null) {
      double events = (double) (last.throttleEvents - first.throttleEvents);
      require(doubts, Doubt.Code.THROTTLED, events, 0);
    }
    int status = 0;
    int screenOff = 0;
    for (Reading reading : readings) {
      screenOff += Boolean.FALSE.equals(reading.screenOn) ? 1 : 0;
      status = Math.max(status, reading.thermalStatus == null ? 0 : reading.thermalStatus);
    }
    require(doubts, Doubt.Code.THERMAL_STATUS, status, THERMAL_STATUS_MAX);
    require(doubts, Doubt.Code.SCREEN_OFF, (double) screenOff / readings.size(), 0);
    double fallen = frequencyPart(readings);
    if (fallen < FREQUENCY_PART_MIN) {
      doubts.add(new Doubt(Doubt.Code.FREQUENCY, fallen, FREQUENCY_PART_MIN));
    }
    double elapsedNs = (double) (last.timeNs - first.timeNs);
    if (first.othersNs != null && last.othersNs != null && elapsedNs > 0) {
      double processors = (last.othersNs - first.othersNs) / elapsedNs;
      require(doubts, Doubt.Code.OTHER_LOAD, processors, OTHERS_PROCESSORS_MAX);
    }
    if (first.stolenNs != null && last.stolenNs != null && elapsedNs > 0) {
      double processors = (last.stolenNs - first.stolenNs) / elapsedNs;
      require(doubts, Doubt.Code.STOLEN, processors, STOLEN_PROCESSORS_MAX);
    }
    return doubts;
  }

  private static void require(List<Doubt> doubts, Doubt.Code code, double value, double max) {
    if (value > max) {
      doubts.add(new Doubt(code, value, max));
    }
  }

  /** Returns the last quarter's median frequency as a part of the highest; 1 if it is unknown. */
  private static double frequencyPart(List<Reading> readings) {
    List<Long> frequencies = new ArrayList<>();
    for (Reading reading : readings) {
      if (reading.frequencyKhz != null) {
        frequencies.add(reading.frequencyKhz);
      }
    }
    // Fewer readings are less than a second: the governor may still be on its way up.
    if (frequencies.size() < 4) {
      return 1;
    }
    long highest = Collections.max(frequencies);
    List<Long> end = frequencies.subList(frequencies.size() * 3 / 4, frequencies.size());
    List<Long> sorted = new ArrayList<>(end);
    Collections.sort(sorted);
    return (double) sorted.get(sorted.size() / 2) / highest;
  }
}
