// SPDX-License-Identifier: Apache-2.0
package androidx.test.runner.intent;

import android.app.Instrumentation;
import android.content.Intent;

/** A stand-in: Robolectric loads this name of androidx.test, which Maven Central does not have. */
public interface IntentStubber {
  Instrumentation.ActivityResult getActivityResultForIntent(Intent intent);
}
