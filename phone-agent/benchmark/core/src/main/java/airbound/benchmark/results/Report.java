// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.results;

import airbound.benchmark.measure.Settings;
import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** All that one start of the benchmark found: a file of results. */
public final class Report {
  /** The format of the file; another number is another format. */
  public static final int FORMAT = 1;

  private static final Gson GSON =
      new GsonBuilder()
          .setPrettyPrinting()
          .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
          .disableHtmlEscaping()
          .create();

  private final int airboundBenchmarkFormat;
  public final String began;
  public final long clockResolutionNs;
  public final int rows;
  public final int selects;
  public final Settings settings;

  /** Whether it came to its end. */
  private boolean complete;

  private final Map<String, String> machine;
  private final List<Run> runs = new ArrayList<>();

  /**
   * A report without results yet.
   *
   * @param began when, as ISO 8601
   * @param machine what the machine is: names and texts
   * @param rows of SQLite's table
   * @param selects of that table in a round; 0: as many as fill it
   */
  public Report(
      String began,
      Map<String, String> machine,
      Settings settings,
      long clockResolutionNs,
      int rows,
      int selects) {
    // Here and not above: the compiler would take a constant for the file's value.
    this.airboundBenchmarkFormat = FORMAT;
    this.began = began;
    this.machine = new LinkedHashMap<>(machine);
    this.settings = settings;
    this.clockResolutionNs = clockResolutionNs;
    this.rows = rows;
    this.selects = selects;
  }

  /** Adds the results of another mode. */
  public void add(Run run) {
    runs.add(run);
  }

  /** Marks the report as one of a run that came to its end. */
  public void end() {
    complete = true;
  }

  public boolean complete() {
    return complete;
  }

  public Map<String, String> machine() {
    return Collections.unmodifiableMap(machine);
  }

  public List<Run> runs() {
    return Collections.unmodifiableList(runs);
  }

  /** Returns the results of a mode; null if it was not run. */
  public Run run(String mode) {
    for (Run run : runs) {
      if (run.mode.equals(mode)) {
        return run;
      }
    }
    return null;
  }

  /** Returns the file's text. */
  public String json() {
    return GSON.toJson(this) + "\n";
  }

  /**
   * Reads a file's text.
   *
   * @throws IllegalArgumentException it is no report of this format; the message says why
   */
  public static Report parse(String json) {
    Report report;
    try {
      report = GSON.fromJson(json, Report.class);
    } catch (JsonParseException error) {
      throw new IllegalArgumentException("no results: " + error.getMessage(), error);
    }
    String wrong = report == null ? "the file is empty" : report.wrong();
    if (wrong != null) {
      throw new IllegalArgumentException("no results of format " + FORMAT + ": " + wrong);
    }
    return report;
  }

  /** Returns what is missing or out of range; null if nothing is. */
  private String wrong() {
    if (airboundBenchmarkFormat != FORMAT) {
      return "it has the format " + airboundBenchmarkFormat;
    }
    if (began == null || machine == null || settings == null || runs == null) {
      return "began, machine, settings or runs are missing";
    }
    for (Run run : runs) {
      if (run == null || !run.whole()) {
        return "a run has no mode, or a result of it has no name, no unit or no passes";
      }
    }
    return null;
  }
}
