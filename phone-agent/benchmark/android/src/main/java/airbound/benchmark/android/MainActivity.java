// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.android;

import airbound.benchmark.R;
import airbound.benchmark.http.Addresses;
import airbound.benchmark.results.Doubt;
import airbound.benchmark.results.Report;
import airbound.benchmark.results.Result;
import airbound.benchmark.results.Run;
import android.Manifest;
import android.app.Activity;
import android.content.Intent;
import android.os.Build;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.view.View;
import android.widget.LinearLayout;
import android.widget.TextView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The only screen: what is kept, and whether more is coming. It keeps nothing itself. */
public final class MainActivity extends Activity {
  private final Handler screen = new Handler(Looper.getMainLooper());
  private final Runnable showing = this::show;
  private ResultStore store;

  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    setContentView(R.layout.main);
    store = new ResultStore(getFilesDir());
    findViewById(R.id.start).setOnClickListener(view -> start());
    findViewById(R.id.stop).setOnClickListener(view -> stop());
    findViewById(R.id.share).setOnClickListener(view -> share());
    if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.TIRAMISU) {
      requestPermissions(new String[] {Manifest.permission.POST_NOTIFICATIONS}, 0);
    }
  }

  @Override
  protected void onStart() {
    super.onStart();
    BenchmarkService.listen(this::showSoon);
    show();
  }

  @Override
  protected void onStop() {
    BenchmarkService.listen(null);
    screen.removeCallbacks(showing);
    super.onStop();
  }

  /** However often the service calls it, the screen is shown once. */
  private void showSoon() {
    screen.removeCallbacks(showing);
    screen.post(showing);
  }

  private void start() {
    Intent intent = new Intent(this, BenchmarkService.class);
    TextView server = findViewById(R.id.server);
    String address = server.getText().toString().trim();
    if (!address.isEmpty()) {
      try {
        Addresses.parse(address);
      } catch (IllegalArgumentException error) {
        server.setError(getString(R.string.server_wrong, address));
        return;
      }
      intent.putExtra(BenchmarkService.SERVER, address);
    }
    startForegroundService(intent);
    show();
  }

  private void stop() {
    stopService(new Intent(this, BenchmarkService.class));
    show();
  }

  private void share() {
    try {
      Report report = store.kept();
      if (report != null) {
        Intent send = new Intent(Intent.ACTION_SEND);
        send.setType("application/json").putExtra(Intent.EXTRA_TEXT, report.json());
        startActivity(Intent.createChooser(send, getString(R.string.share)));
      }
    } catch (IOException error) {
      status(getString(R.string.unreadable, error.getMessage()));
    }
  }

  private void show() {
    boolean running = BenchmarkService.running();
    findViewById(R.id.start).setEnabled(!running);
    findViewById(R.id.stop).setEnabled(running);
    LinearLayout table = findViewById(R.id.results);
    table.removeAllViews();
    try {
      Report report = store.kept();
      findViewById(R.id.share).setEnabled(report != null);
      String problem = BenchmarkService.problem;
      if (problem != null) {
        status(getString(R.string.unwritable, problem));
      } else if (report == null) {
        status(getString(R.string.none));
      } else {
        status(status(report, running));
      }
      if (report != null) {
        for (Run run : report.runs()) {
          for (Result result : run.results()) {
            table.addView(text(figure(result), 16));
            table.addView(text(remark(result), 13));
          }
        }
      }
    } catch (IOException error) {
      findViewById(R.id.share).setEnabled(false);
      status(getString(R.string.unreadable, error.getMessage()));
    }
  }

  private void status(String text) {
    TextView status = findViewById(R.id.status);
    status.setText(text);
  }

  private String status(Report report, boolean running) {
    int all = 0;
    int ended = 0;
    int failed = 0;
    for (Run run : report.runs()) {
      for (Result result : run.results()) {
        all++;
        ended += result.measured() || result.failed() != null ? 1 : 0;
        failed += result.failed() != null ? 1 : 0;
      }
    }
    if (running) {
      return getString(R.string.running, ended, all);
    }
    return report.complete()
        ? getString(R.string.finished, all, failed)
        : getString(R.string.interrupted, ended, all);
  }

  private static String figure(Result result) {
    if (!result.measured()) {
      return result.id;
    }
    String format = result.median() >= 100 ? "%s  %.0f %s" : "%s  %.3g %s";
    return String.format(Locale.ROOT, format, result.id, result.median(), result.unit);
  }

  private String remark(Result result) {
    if (result.failed() != null) {
      return getString(R.string.failed, result.failed());
    }
    if (!result.measured()) {
      return getString(R.string.not_run);
    }
    List<String> doubts = new ArrayList<>();
    for (Doubt doubt : result.doubts()) {
      doubts.add(text(doubt));
    }
    return doubts.isEmpty()
        ? getString(R.string.spread, result.spread() * 100)
        : getString(R.string.noisy, String.join("; ", doubts));
  }

  private String text(Doubt doubt) {
    switch (doubt.code) {
      case PASSES:
        return getString(R.string.doubt_passes, doubt.value, doubt.limit);
      case SPREAD:
        return getString(R.string.doubt_spread, doubt.value * 100);
      case THROTTLED:
        return getString(R.string.doubt_throttled);
      case THERMAL_STATUS:
        return getString(R.string.doubt_thermal_status, doubt.value);
      case FREQUENCY:
        return getString(R.string.doubt_frequency, doubt.value * 100);
      case OTHER_LOAD:
        return getString(R.string.doubt_other_load, doubt.value);
      case STOLEN:
        return getString(R.string.doubt_stolen, doubt.value);
      case SCREEN_OFF:
        return getString(R.string.doubt_screen_off);
    }
    throw new AssertionError(doubt.code);
  }

  private View text(String text, int sizeSp) {
    TextView view = new TextView(this);
    view.setText(text);
    view.setTextSize(sizeSp);
    return view;
  }
}
