// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.android;

import airbound.benchmark.R;
import airbound.benchmark.cpu.Kernels;
import airbound.benchmark.drawing.Drawing;
import airbound.benchmark.http.Addresses;
import airbound.benchmark.http.ByteServer;
import airbound.benchmark.http.Transactions;
import airbound.benchmark.machine.Watch;
import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Clock;
import airbound.benchmark.measure.Rounds;
import airbound.benchmark.measure.Settings;
import airbound.benchmark.results.InProcess;
import airbound.benchmark.results.Report;
import airbound.benchmark.results.Run;
import airbound.benchmark.sqlite.Sqlite;
import android.app.Notification;
import android.app.NotificationChannel;
import android.app.NotificationManager;
import android.app.Service;
import android.content.Context;
import android.content.Intent;
import android.content.pm.ServiceInfo;
import android.os.Build;
import android.os.IBinder;
import android.os.PowerManager;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Measures in the foreground, so that Android does not end it when its screen is left. What it has
 * measured is kept after each benchmark. All calls but {@link #measure} are of the main thread.
 */
public final class BenchmarkService extends Service {
  /** The extra with HOST:PORT of an HTTP server; none: one of this process. */
  static final String SERVER = "airbound.benchmark.SERVER";

  private static final String CHANNEL = "run";
  private static final int NOTIFICATION = 1;
  private static final long WAKE_MAX_MS = 3_600_000;
  private static final int ROWS = 10_000;
  private static final Settings SETTINGS = new Settings(5, 3, 5, 200_000_000);

  /** What a test sets: fewer and shorter rounds. */
  static Settings settings = SETTINGS;

  static int rows = ROWS;

  private static volatile boolean running;

  /** Why the last run could not keep its results, or not begin; null if it could. */
  static volatile String problem;

  private static volatile Runnable listener = () -> {};
  private Thread thread;

  /** Returns whether it measures now. */
  static boolean running() {
    return running;
  }

  /** Has a listener called, in any thread, when there is something new; null: no more. */
  static void listen(Runnable called) {
    listener = called == null ? () -> {} : called;
  }

  @Override
  public IBinder onBind(Intent intent) {
    return null;
  }

  @Override
  public int onStartCommand(Intent intent, int flags, int startId) {
    showNotification();
    if (!running) {
      running = true;
      problem = null;
      String server = intent == null ? null : intent.getStringExtra(SERVER);
      thread = new Thread(() -> measureAndEnd(server), "airbound-benchmark");
      thread.start();
    }
    // Android starts it no second time by itself: a run that was killed shows what it had.
    return START_NOT_STICKY;
  }

  @Override
  public void onDestroy() {
    if (thread != null) {
      thread.interrupt();
    }
    super.onDestroy();
  }

  /** Waits for the end of the run. */
  void join() throws InterruptedException {
    thread.join();
  }

  private void showNotification() {
    getSystemService(NotificationManager.class)
        .createNotificationChannel(
            new NotificationChannel(
                CHANNEL, getString(R.string.name), NotificationManager.IMPORTANCE_LOW));
    Notification notification =
        new Notification.Builder(this, CHANNEL)
            .setSmallIcon(R.drawable.icon)
            .setContentTitle(getString(R.string.name))
            .setOngoing(true)
            .build();
    if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.UPSIDE_DOWN_CAKE) {
      startForeground(NOTIFICATION, notification, ServiceInfo.FOREGROUND_SERVICE_TYPE_SPECIAL_USE);
    } else {
      startForeground(NOTIFICATION, notification);
    }
  }

  private void measureAndEnd(String server) {
    PowerManager.WakeLock awake =
        getSystemService(PowerManager.class)
            .newWakeLock(PowerManager.PARTIAL_WAKE_LOCK, "airbound:benchmark");
    awake.acquire(WAKE_MAX_MS);
    try {
      measure(server);
    } catch (IOException error) {
      problem = error.getMessage();
    } finally {
      awake.release();
      running = false;
      stopSelf();
      listener.run();
    }
  }

  private void measure(String server) throws IOException {
    try (ByteServer own =
            new ByteServer(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Watch watch = new Watch(new PhoneSensors(this))) {
      InetSocketAddress address = server == null ? own.address() : Addresses.parse(server);
      List<Benchmark> plan = plan(this, address);
      long resolutionNs = Clock.resolutionNs(Clock.SYSTEM);
      Report report =
          new Report(Instant.now().toString(), machine(), settings, resolutionNs, rows, 0);
      Run run = new Run("art", plan);
      report.add(run);
      ResultStore store = new ResultStore(getFilesDir());
      Rounds rounds = new Rounds(settings, Clock.SYSTEM, resolutionNs);
      new InProcess(plan, rounds, watch)
          .run(
              run,
              settings.passes,
              () -> {
                store.keep(report);
                listener.run();
              });
      if (!Thread.currentThread().isInterrupted()) {
        report.end();
      }
      store.keep(report);
    }
  }

  /** Returns all benchmarks. */
  static List<Benchmark> plan(Context context, InetSocketAddress server) {
    List<Benchmark> plan = new ArrayList<>(Kernels.benchmarks());
    plan.addAll(Drawing.benchmarks(BitmapSurface::new));
    plan.addAll(Transactions.benchmarks(server));
    plan.addAll(Sqlite.benchmarks(() -> new AndroidDatabase(context.getCacheDir()), rows, 0));
    return plan;
  }

  private static Map<String, String> machine() {
    Map<String, String> machine = new LinkedHashMap<>();
    machine.put("device", Build.MANUFACTURER + " " + Build.MODEL);
    machine.put("processor", Build.HARDWARE + " " + Build.BOARD);
    machine.put("processors", String.valueOf(Runtime.getRuntime().availableProcessors()));
    machine.put("system", "Android " + Build.VERSION.RELEASE + ", " + Build.VERSION.SDK_INT);
    return machine;
  }
}
