// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.results;

import airbound.benchmark.measure.Statistics;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** One pass of one benchmark. */
public final class Pass {
  private final double[] rates;
  private final List<Doubt> doubts;

  /**
   * A pass.
   *
   * @param rates of each round that counts; at least one
   * @param doubts about this pass
   */
  public Pass(double[] rates, List<Doubt> doubts) {
    this.rates = rates.clone();
    this.doubts = new ArrayList<>(doubts);
  }

  /** Returns the rate of each round. */
  public double[] rates() {
    return rates.clone();
  }

  /** Returns the rounds' median. */
  public double median() {
    return Statistics.median(rates);
  }

  /** Returns whether nothing is missing or no rate, as it may be in a pass of a file. */
  boolean whole() {
    if (rates == null || rates.length == 0 || doubts == null) {
      return false;
    }
    for (double rate : rates) {
      if (!(rate > 0) || Double.isInfinite(rate)) {
        return false;
      }
    }
    for (Doubt doubt : doubts) {
      if (doubt == null || doubt.code == null) {
        return false;
      }
    }
    return true;
  }

  /** Returns why this pass may be wrong. */
  public List<Doubt> doubts() {
    return Collections.unmodifiableList(doubts);
  }
}
