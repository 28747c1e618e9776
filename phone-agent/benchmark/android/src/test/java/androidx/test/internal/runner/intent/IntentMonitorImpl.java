// SPDX-License-Identifier: Apache-2.0
package androidx.test.internal.runner.intent;

import android.content.Intent;
import androidx.test.runner.intent.IntentMonitor;

/** A stand-in: Robolectric loads this name of androidx.test, which Maven Central does not have. */
public final class IntentMonitorImpl implements IntentMonitor {
  public void signalIntent(Intent intent) {}
}
