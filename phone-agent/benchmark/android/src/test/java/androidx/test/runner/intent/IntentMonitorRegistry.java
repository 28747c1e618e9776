// SPDX-License-Identifier: Apache-2.0
package androidx.test.runner.intent;

/** A stand-in: Robolectric loads this name of androidx.test, which Maven Central does not have. */
public final class IntentMonitorRegistry {
  private IntentMonitorRegistry() {}

  public static void registerInstance(IntentMonitor monitor) {}
}
