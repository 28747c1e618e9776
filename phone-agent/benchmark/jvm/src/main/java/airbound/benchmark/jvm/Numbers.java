// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import java.util.Locale;

/** Numbers as text: three digits that say something. */
final class Numbers {
  private Numbers() {}

  static String text(double value) {
    int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    return String.format(Locale.ROOT, "%." + decimals + "f", value);
  }

  /** Returns a part as a percentage. */
  static String percent(double part) {
    return text(part * 100) + " %";
  }
}
