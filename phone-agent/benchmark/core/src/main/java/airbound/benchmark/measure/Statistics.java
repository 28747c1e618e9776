// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.measure;

import java.util.Arrays;

/** Median and spread. Pure. */
public final class Statistics {
  private Statistics() {}

  /**
   * Returns the median.
   *
   * @param values at least one
   */
  public static double median(double... values) {
    return quantile(values, 0.5);
  }

  /**
   * Returns how far apart the values are: the distance between their quartiles, as a part of the
   * median. One value in five that is off does not change it.
   *
   * @param values at least one, all above 0
   */
  public static double spread(double... values) {
    return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values);
  }

  /** Returns a quantile; between two values it is interpolated. */
  private static double quantile(double[] values, double part) {
    if (values.length == 0) {
      throw new IllegalArgumentException("no values");
    }
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    double place = part * (sorted.length - 1);
    int below = (int) place;
    int above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
  }
}
