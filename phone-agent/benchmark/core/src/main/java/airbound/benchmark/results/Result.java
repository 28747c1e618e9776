// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.results;

import airbound.benchmark.measure.Statistics;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What came of one benchmark: passes, or why there are none. */
public final class Result {
  /** The largest spread with which a result is compared with another. */
  public static final double SPREAD_MAX = 0.05;

  /** Fewer passes have no quartiles. */
  static final int PASSES_MIN = 3;

  public final String id;
  public final String unit;
  private String failed;
  private final List<Pass> passes = new ArrayList<>();

  public Result(String id, String unit) {
    this.id = id;
    this.unit = unit;
  }

  /** Adds a pass; a benchmark that has failed has none. */
  public void add(Pass pass) {
    if (failed == null) {
      passes.add(pass);
    }
  }

  /** Marks it as failed: what was measured before is no result either. */
  public void fail(String why) {
    failed = why;
    passes.clear();
  }

  /** Returns why there is no result; null if there is one, or none yet. */
  public String failed() {
    return failed;
  }

  /** Returns the passes; none if the benchmark has failed, or has not run yet. */
  public List<Pass> passes() {
    return Collections.unmodifiableList(passes);
  }

  /** Returns whether there is a figure. */
  public boolean measured() {
    return !passes.isEmpty();
  }

  /** Returns the median of the passes' medians; needs {@link #measured}. */
  public double median() {
    return Statistics.median(medians());
  }

  /** Returns how far the passes' medians lie apart, as {@link Statistics#spread}. */
  public double spread() {
    return Statistics.spread(medians());
  }

  /**
   * Returns why the result is no base for a comparison: its spread or that it has none, and what
   * more than half of its passes are doubted for. Empty if it is one.
   */
  public List<Doubt> doubts() {
    List<Doubt> doubts = new ArrayList<>();
    if (measured() && passes.size() < PASSES_MIN) {
      doubts.add(new Doubt(Doubt.Code.PASSES, passes.size(), PASSES_MIN));
    } else if (measured() && spread() > SPREAD_MAX) {
      doubts.add(new Doubt(Doubt.Code.SPREAD, spread(), SPREAD_MAX));
    }
    for (Doubt.Code code : Doubt.Code.values()) {
      List<Doubt> found = new ArrayList<>();
      for (Pass pass : passes) {
        for (Doubt doubt : pass.doubts()) {
          if (doubt.code == code) {
            found.add(doubt);
          }
        }
      }
      if (2 * found.size() > passes.size()) {
        found.sort((left, right) -> Double.compare(left.value, right.value));
        doubts.add(found.get(found.size() / 2));
      }
    }
    return doubts;
  }

  /** Returns whether nothing is missing, as it may be in a result that was read from a file. */
  boolean whole() {
    if (id == null || unit == null || passes == null) {
      return false;
    }
    for (Pass pass : passes) {
      if (pass == null || !pass.whole()) {
        return false;
      }
    }
    return true;
  }

  private double[] medians() {
    double[] medians = new double[passes.size()];
    for (int pass = 0; pass < medians.length; pass++) {
      medians[pass] = passes.get(pass).median();
    }
    return medians;
  }
}
