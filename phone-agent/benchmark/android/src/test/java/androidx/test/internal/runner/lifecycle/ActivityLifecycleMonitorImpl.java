// SPDX-License-Identifier: Apache-2.0
package androidx.test.internal.runner.lifecycle;

import android.app.Activity;
import androidx.test.runner.lifecycle.ActivityLifecycleMonitor;
import androidx.test.runner.lifecycle.Stage;

/** A stand-in: Robolectric loads this name of androidx.test, which Maven Central does not have. */
public final class ActivityLifecycleMonitorImpl implements ActivityLifecycleMonitor {
  public void signalLifecycleChange(Stage stage, Activity activity) {}
}
