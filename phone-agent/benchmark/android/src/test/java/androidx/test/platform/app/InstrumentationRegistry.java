// SPDX-License-Identifier: Apache-2.0
package androidx.test.platform.app;

import android.app.Instrumentation;
import android.os.Bundle;

/** A stand-in: Robolectric loads this name of androidx.test, which Maven Central does not have. */
public final class InstrumentationRegistry {
  private static Instrumentation instrumentation;

  private InstrumentationRegistry() {}

  public static void registerInstance(Instrumentation registered, Bundle arguments) {
    instrumentation = registered;
  }

  public static Instrumentation getInstrumentation() {
    return instrumentation;
  }
}
