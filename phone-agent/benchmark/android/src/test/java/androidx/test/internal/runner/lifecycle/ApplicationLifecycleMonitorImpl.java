// SPDX-License-Identifier: Apache-2.0
package androidx.test.internal.runner.lifecycle;

import android.app.Application;
import androidx.test.runner.lifecycle.ApplicationLifecycleMonitor;
import androidx.test.runner.lifecycle.ApplicationStage;

/** A stand-in: Robolectric loads this name of androidx.test, which Maven Central does not have. */
public final class ApplicationLifecycleMonitorImpl implements ApplicationLifecycleMonitor {
  public void signalLifecycleChange(Application application, ApplicationStage stage) {}
}
