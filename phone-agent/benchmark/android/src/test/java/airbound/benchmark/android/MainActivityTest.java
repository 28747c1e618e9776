// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.android;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import airbound.benchmark.R;
import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Settings;
import airbound.benchmark.results.Doubt;
import airbound.benchmark.results.Pass;
import airbound.benchmark.results.Report;
import airbound.benchmark.results.Result;
import airbound.benchmark.results.Run;
import android.app.Application;
import android.content.Intent;
import android.graphics.Bitmap;
import android.graphics.Canvas;
import android.graphics.Color;
import android.view.View;
import android.widget.EditText;
import android.widget.LinearLayout;
import android.widget.TextView;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.Shadows;
import org.robolectric.android.controller.ActivityController;
import org.robolectric.android.controller.ServiceController;
import org.robolectric.annotation.Config;
import org.robolectric.shadows.ShadowLooper;

/** The screen and the service, on Robolectric's Android 14. Each screen leaves a picture. */
@RunWith(RobolectricTestRunner.class)
public final class MainActivityTest {
  private static final int WIDTH = 360;
  private static final int HEIGHT = 640;

  private final Application application = RuntimeEnvironment.getApplication();
  private final ResultStore store = new ResultStore(application.getFilesDir());
  private ActivityController<MainActivity> activity;

  @Before
  public void shortRun() {
    BenchmarkService.settings = new Settings(1, 0, 1, 1_000_000);
    BenchmarkService.rows = 20;
    // As in a new process.
    BenchmarkService.problem = null;
  }

  @After
  public void end() {
    if (activity != null) {
      activity.close();
    }
  }

  private List<Benchmark> plan() {
    return BenchmarkService.plan(
        application, InetSocketAddress.createUnresolved("192.0.2.1", 8080));
  }

  /** A report with results of the first benchmarks. */
  private Report report(int measured, boolean complete, Doubt... doubts) {
    Report report =
        new Report(
            "2026-11-27T12:00:00Z",
            Collections.singletonMap("device", "none"),
            new Settings(5, 3, 5, 200_000_000),
            30,
            10_000,
            0);
    Run run = new Run("art", plan());
    for (Result result : run.results().subList(0, measured)) {
      for (int pass = 0; pass < 3; pass++) {
        result.add(new Pass(new double[] {123.456 * (1 + pass * 0.001)}, List.of(doubts)));
      }
    }
    report.add(run);
    if (complete) {
      report.end();
    }
    return report;
  }

  private void show() {
    activity = Robolectric.buildActivity(MainActivity.class).setup();
  }

  private String text(int id) {
    TextView view = activity.get().findViewById(id);
    return view.getText().toString();
  }

  private boolean enabled(int id) {
    return activity.get().findViewById(id).isEnabled();
  }

  private String table() {
    LinearLayout table = activity.get().findViewById(R.id.results);
    StringBuilder text = new StringBuilder();
    for (int row = 0; row < table.getChildCount(); row++) {
      text.append(((TextView) table.getChildAt(row)).getText()).append('|');
    }
    return text.toString();
  }

  /** Draws the screen into a file; a screen without any text has one colour. */
  private void picture(String name) throws IOException {
    View root = activity.get().getWindow().getDecorView();
    boolean upright = root.getWidth() <= root.getHeight();
    int width = upright ? WIDTH : HEIGHT;
    int height = upright ? HEIGHT : WIDTH;
    root.measure(
        View.MeasureSpec.makeMeasureSpec(width, View.MeasureSpec.EXACTLY),
        View.MeasureSpec.makeMeasureSpec(height, View.MeasureSpec.EXACTLY));
    root.layout(0, 0, width, height);
    Bitmap picture = Bitmap.createBitmap(width, height, Bitmap.Config.ARGB_8888);
    Canvas canvas = new Canvas(picture);
    canvas.drawColor(Color.WHITE);
    root.draw(canvas);
    Set<Integer> colours = new HashSet<>();
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        colours.add(picture.getPixel(x, y));
      }
    }
    assertTrue(name + " has " + colours.size() + " colours", colours.size() > 10);
    File directory = new File(System.getProperty("airbound.pictures"));
    Files.createDirectories(directory.toPath());
    try (FileOutputStream out = new FileOutputStream(new File(directory, name + ".png"))) {
      assertTrue(picture.compress(Bitmap.CompressFormat.PNG, 100, out));
    }
  }

  @Test
  public void atFirstThereIsNothing() throws IOException {
    show();
    assertEquals("Nothing has been measured yet.", text(R.id.status));
    assertTrue(enabled(R.id.start));
    assertFalse(enabled(R.id.stop));
    assertFalse(enabled(R.id.share));
    picture("nothing");
  }

  @Test
  public void aFinishedRunIsShown() throws IOException {
    Report report = report(19, true);
    report.runs().get(0).result("http/new-1").fail("HTTP server 192.0.2.1:8080: refused");
    store.keep(report);
    show();
    assertEquals("Finished: 19 benchmarks, 1 failed.", text(R.id.status));
    assertTrue(table(), table().contains("cpu/sor  124 Mflop/s|spread 0.1 %|"));
    assertTrue(table(), table().contains("failed: HTTP server 192.0.2.1:8080: refused"));
    picture("finished");
  }

  @Test
  public void eachDoubtIsNamed() throws IOException {
    Doubt[] doubts =
        Arrays.stream(Doubt.Code.values())
            .map(code -> new Doubt(code, 0.5, 0.25))
            .toArray(Doubt[]::new);
    store.keep(report(19, true, doubts));
    show();
    assertTrue(table(), table().contains("noisy: "));
    assertTrue(table(), table().contains("the screen was off"));
    assertTrue(table(), table().contains("the frequency fell to 50 %"));
    picture("noisy");
  }

  @Test
  @Config(qualifiers = "+ja")
  public void itSpeaksJapanese() throws IOException {
    show();
    assertEquals("測定結果はまだありません。", text(R.id.status));
    assertEquals("開始", text(R.id.start));
    store.keep(report(7, false, new Doubt(Doubt.Code.SCREEN_OFF, 1, 0)));
    activity.recreate();
    assertEquals("中断されました。19 件中 7 件の結果です。", text(R.id.status));
    assertTrue(table(), table().contains("画面が消えていた"));
    picture("japanese");
  }

  @Test
  public void startRunsTheServiceWithTheServerThatWasTyped() throws IOException {
    show();
    EditText server = activity.get().findViewById(R.id.server);
    server.setText("nowhere");
    activity.get().findViewById(R.id.start).performClick();
    assertNull(Shadows.shadowOf(application).getNextStartedService());
    assertEquals("\"nowhere\" is not HOST:PORT.", server.getError().toString());
    picture("server");
    server.setText(" 192.0.2.1:8080 ");
    activity.get().findViewById(R.id.start).performClick();
    Intent started = Shadows.shadowOf(application).getNextStartedService();
    assertEquals("192.0.2.1:8080", started.getStringExtra(BenchmarkService.SERVER));
  }

  @Test
  public void shareSendsTheResults() throws IOException {
    store.keep(report(19, true));
    show();
    activity.get().findViewById(R.id.share).performClick();
    Intent chooser = Shadows.shadowOf(application).getNextStartedActivity();
    Intent send = chooser.getParcelableExtra(Intent.EXTRA_INTENT, Intent.class);
    assertEquals(store.kept().json(), Report.parse(send.getStringExtra(Intent.EXTRA_TEXT)).json());
  }

  @Test
  public void aRunMeasuresEverythingAndKeepsIt() throws Exception {
    ServiceController<BenchmarkService> service =
        Robolectric.buildService(BenchmarkService.class, new Intent()).create().startCommand(0, 1);
    assertNotNull(Shadows.shadowOf(service.get()).getLastForegroundNotification());
    service.get().join();
    show();
    Report report = store.kept();
    assertTrue(report.complete());
    for (Result result : report.run("art").results()) {
      assertTrue(result.id + ": " + result.failed(), result.measured());
    }
    assertEquals("Finished: 19 benchmarks, 0 failed.", text(R.id.status));
    service.destroy();
  }

  /** A process that was killed leaves what it had kept; the next start of the app shows it. */
  @Test
  public void aRunThatWasKilledShowsWhatItHad() throws IOException {
    store.keep(report(4, false));
    show();
    assertEquals("Interrupted: this is what it had, 4 of 19.", text(R.id.status));
    assertTrue(table(), table().contains("cpu/monte-carlo  124 Mflop/s|"));
    assertTrue(table(), table().contains("cpu/lu|not run|"));
    assertTrue(enabled(R.id.start) && enabled(R.id.share));
    picture("interrupted");
  }

  /** A run that has no end by itself, so that nothing here depends on how fast it is. */
  @Test
  public void aRunGoesOnWhenTheScreenIsRotatedAndKeepsWhatItHadWhenItIsStopped() throws Exception {
    BenchmarkService.settings = new Settings(1_000_000, 0, 1, 1_000_000);
    ServiceController<BenchmarkService> service =
        Robolectric.buildService(BenchmarkService.class, new Intent()).create().startCommand(0, 1);
    while (store.kept() == null) {
      Thread.onSpinWait();
    }
    show();
    assertTrue(text(R.id.status), text(R.id.status).startsWith("Measuring: "));
    picture("running");
    RuntimeEnvironment.setQualifiers("+land");
    activity.recreate();
    assertTrue(text(R.id.status), text(R.id.status).startsWith("Measuring: "));
    assertTrue(table(), table().startsWith("cpu/linpack  "));
    assertTrue(enabled(R.id.stop) && !enabled(R.id.start));
    picture("running-rotated");
    service.destroy();
    service.get().join();
    // What the service reports to the screen.
    ShadowLooper.idleMainLooper();
    assertTrue(text(R.id.status), text(R.id.status).startsWith("Interrupted: "));
    Report report = store.kept();
    assertFalse(report.complete());
    assertTrue(report.run("art").results().get(0).measured());
    for (Result result : report.run("art").results()) {
      assertNull(result.failed());
    }
  }

  @Test
  public void aFileThatIsDamagedIsNamed() throws IOException {
    File file = new File(application.getFilesDir(), "results.json");
    Files.write(file.toPath(), "{".getBytes(StandardCharsets.UTF_8));
    show();
    assertTrue(
        text(R.id.status),
        text(R.id.status).startsWith("The kept results cannot be read: results.json: no results"));
    assertFalse(enabled(R.id.share));
    assertTrue(enabled(R.id.start));
    picture("unreadable");
  }

  @Test
  public void resultsThatCannotBeKeptEndTheRunAndAreNamed() throws Exception {
    // A directory where the file is to be written.
    Files.createDirectories(new File(application.getFilesDir(), "results.json.new/x").toPath());
    ServiceController<BenchmarkService> service =
        Robolectric.buildService(BenchmarkService.class, new Intent()).create().startCommand(0, 1);
    service.get().join();
    show();
    assertTrue(text(R.id.status), text(R.id.status).startsWith("The results cannot be kept: "));
    picture("unwritable");
    service.destroy();
  }
}
