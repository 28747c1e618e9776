// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.measure;

/** A clock that only the test moves, and that shows whole steps. */
final class FakeClock implements Clock {
  private final long stepNs;
  long ns;

  FakeClock(long stepNs) {
    this.stepNs = stepNs;
  }

  @Override
  public long nowNs() {
    return ns / stepNs * stepNs;
  }
}
