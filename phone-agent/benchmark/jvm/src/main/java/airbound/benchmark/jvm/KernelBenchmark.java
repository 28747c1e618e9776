// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.cpu.Kernels;
import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Workload;
import java.io.IOException;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** A kernel as JMH measures it. Its results are arrays on the heap, so no work can be left out. */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
public class KernelBenchmark {
  /** The kernel's name in results. */
  @Param("cpu/linpack")
  public String id;

  private Workload workload;

  /** Opens the kernel. */
  @Setup(Level.Trial)
  public void open() throws IOException {
    for (Benchmark kernel : Kernels.benchmarks()) {
      if (kernel.id.equals(id)) {
        workload = kernel.open();
        return;
      }
    }
    throw new IllegalArgumentException("no such kernel: " + id);
  }

  /** One repetition. */
  @org.openjdk.jmh.annotations.Benchmark
  public void run() throws IOException {
    workload.run(1);
  }

  /** Fails the benchmark if its answer is wrong. */
  @TearDown(Level.Iteration)
  public void check() throws IOException {
    workload.check();
  }

  /** Closes the kernel. */
  @TearDown(Level.Trial)
  public void close() throws IOException {
    workload.close();
  }
}
