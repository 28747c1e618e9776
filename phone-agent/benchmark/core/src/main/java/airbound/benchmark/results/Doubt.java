// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.results;

import java.util.Locale;

/** A reason why a measurement may be wrong: a code, a value and the limit that it is beyond. */
public final class Doubt {
  /** The reasons. */
  public enum Code {
    PASSES("it has %.0f passes, of which a spread needs %.0f", 1),
    SPREAD("the passes' quartiles are %.1f %% apart (limit %.1f %%)", 100),
    THROTTLED("a processor was slowed down for its temperature %.0f times", 1),
    THERMAL_STATUS("Android's thermal status was %.0f (limit %.0f)", 1),
    FREQUENCY("the processors' frequency fell to %.0f %% (limit %.0f %%)", 100),
    OTHER_LOAD("other programs used %.2f processors (limit %.2f)", 1),
    STOLEN("the hypervisor took %.2f processors (limit %.2f)", 1),
    SCREEN_OFF("the screen was off for %.0f %% of the time: Android may slow the phone down", 100);

    private final String template;
    private final double factor;

    Code(String template, double factor) {
      this.template = template;
      this.factor = factor;
    }
  }

  public final Code code;
  public final double value;
  public final double limit;

  /** A reason; value and limit have the unit that the code's text names, percentages as parts. */
  public Doubt(Code code, double value, double limit) {
    this.code = code;
    this.value = value;
    this.limit = limit;
  }

  /** Returns the reason in English. */
  public String text() {
    return String.format(Locale.ROOT, code.template, value * code.factor, limit * code.factor);
  }
}
