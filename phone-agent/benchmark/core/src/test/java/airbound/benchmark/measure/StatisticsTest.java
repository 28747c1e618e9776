// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

final class StatisticsTest {
  @Test
  void theMedianIsTheMiddle() {
    assertEquals(5, Statistics.median(5));
    assertEquals(3, Statistics.median(9, 1, 3));
    assertEquals(2.5, Statistics.median(4, 1, 2, 3));
  }

  @Test
  void theSpreadIsBetweenTheQuartiles() {
    assertEquals(0, Statistics.spread(7));
    assertEquals(0.2, Statistics.spread(8, 9, 10, 11, 12), 1e-12);
    // One of five that is far off changes nothing.
    assertEquals(0.2, Statistics.spread(8, 9, 10, 11, 500), 1e-12);
  }

  @Test
  void nothingHasNoMedian() {
    assertThrows(IllegalArgumentException.class, Statistics::median);
  }
}
