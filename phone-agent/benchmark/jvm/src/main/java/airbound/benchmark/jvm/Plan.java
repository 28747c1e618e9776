// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.cpu.Kernels;
import airbound.benchmark.drawing.Drawing;
import airbound.benchmark.http.Transactions;
import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Settings;
import airbound.benchmark.sqlite.Sqlite;
import com.google.gson.Gson;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What a run measures and how; a child process gets it as JSON. */
record Plan(
    Settings settings,
    long resolutionNs,
    String directory,
    String serverHost,
    int serverPort,
    int rows,
    int selects,
    List<String> only) {

  private static final Gson GSON = new Gson();

  /**
   * Returns all benchmarks whose name begins with one of {@code only}; all of them if it is empty.
   */
  List<Benchmark> benchmarks() {
    List<Benchmark> all = new ArrayList<>(Kernels.benchmarks());
    all.addAll(Drawing.benchmarks(ImageSurface::new));
    all.addAll(Transactions.benchmarks(InetSocketAddress.createUnresolved(serverHost, serverPort)));
    all.addAll(Sqlite.benchmarks(() -> new JdbcDatabase(Path.of(directory)), rows, selects));
    return all.stream()
        .filter(one -> only.isEmpty() || only.stream().anyMatch(one.id::startsWith))
        .toList();
  }

  String json() {
    return GSON.toJson(this);
  }

  static Plan parse(String json) {
    return GSON.fromJson(json, Plan.class);
  }
}
