// SPDX-License-Identifier: Apache-2.0
package androidx.test.runner.lifecycle;

/** A stand-in: Robolectric loads this name of androidx.test, which Maven Central does not have. */
public enum Stage {
  PRE_ON_CREATE,
  CREATED,
  STARTED,
  RESUMED,
  PAUSED,
  STOPPED,
  RESTARTED,
  DESTROYED
}
