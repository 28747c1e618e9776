// SPDX-License-Identifier: Apache-2.0
package androidx.test.runner.intent;

/** A stand-in: Robolectric loads this name of androidx.test, which Maven Central does not have. */
public final class IntentStubberRegistry {
  private IntentStubberRegistry() {}

  public static boolean isLoaded() {
    return false;
  }

  public static IntentStubber getInstance() {
    return null;
  }

  public static void reset() {}
}
