// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.http;

import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Workload;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** HTTP transactions of one byte, by one client or by several at the same time. */
public final class Transactions implements Workload {
  private static final int[] CLIENTS = {1, 8};

  private final List<Fetcher> fetchers = new ArrayList<>();
  private final ExecutorService threads;

  private Transactions(InetSocketAddress server, boolean kept, int clients) {
    for (int client = 0; client < clients; client++) {
      fetchers.add(new Fetcher(server, kept));
    }
    threads = Executors.newFixedThreadPool(clients);
  }

  /**
   * Returns the benchmarks: a new connection for each transaction and kept ones, 1 and 8 clients.
   */
  public static List<Benchmark> benchmarks(InetSocketAddress server) {
    List<Benchmark> benchmarks = new ArrayList<>();
    for (boolean kept : new boolean[] {false, true}) {
      for (int clients : CLIENTS) {
        String id = "http/" + (kept ? "kept" : "new") + "-" + clients;
        benchmarks.add(
            new Benchmark(
                id, "transactions/s", clients, () -> new Transactions(server, kept, clients)));
      }
    }
    return benchmarks;
  }

  /** Each client does so many transactions. */
  @Override
  public void run(int repetitions) throws IOException {
    List<Future<?>> running = new ArrayList<>();
    for (Fetcher fetcher : fetchers) {
      running.add(
          threads.submit(
              () -> {
                for (int number = 0; number < repetitions; number++) {
                  fetcher.fetch(number);
                }
                return null;
              }));
    }
    IOException failed = null;
    for (Future<?> one : running) {
      try {
        one.get();
      } catch (ExecutionException error) {
        failed = failed == null ? cause(error) : failed;
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted", error);
      }
    }
    if (failed != null) {
      throw failed;
    }
  }

  private static IOException cause(ExecutionException error) {
    Throwable cause = error.getCause();
    return cause instanceof IOException ? (IOException) cause : new IOException(cause);
  }

  /** Every answer was compared when it came. */
  @Override
  public void check() {}

  @Override
  public void close() throws IOException {
    threads.shutdownNow();
    for (Fetcher fetcher : fetchers) {
      fetcher.close();
    }
  }
}
