// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.drawing.Drawing;
import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Workload;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class ImageSurfaceTest {
  static List<Benchmark> drawings() {
    return Drawing.benchmarks(ImageSurface::new);
  }

  @ParameterizedTest
  @MethodSource("drawings")
  void awtDrawsWhatTheReferenceDraws(Benchmark benchmark) throws IOException {
    try (Workload workload = benchmark.open()) {
      workload.run(2);
      workload.check();
    }
  }
}
