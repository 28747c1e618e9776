// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.android;

import airbound.benchmark.machine.Reading;
import airbound.benchmark.machine.Sysfs;
import android.content.Context;
import android.os.Build;
import android.os.PowerManager;
import java.nio.file.Paths;
import java.util.function.Supplier;

/** A phone's sensors: sysfs, which many phones keep from apps, Android's own, and the screen. */
final class PhoneSensors implements Supplier<Reading> {
  private final Sysfs sysfs = new Sysfs(Paths.get("/sys"));
  private final PowerManager power;

  PhoneSensors(Context context) {
    power = context.getSystemService(PowerManager.class);
  }

  @Override
  public Reading get() {
    Reading.Builder reading = new Reading.Builder(System.nanoTime());
    sysfs.read(reading);
    reading.screenOn(power.isInteractive());
    if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.Q) {
      reading.thermalStatus(power.getCurrentThermalStatus());
    }
    return reading.build();
  }
}
