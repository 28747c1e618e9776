// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.drawing;

import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Shapes drawn to a surface with two buffers; the frame that is shown is compared afterwards. */
public final class Drawing implements Workload {
  private final Surface surface;
  private final Shapes shapes;
  private final int[] expected;

  private Drawing(Surface surface, Shapes shapes) {
    this.surface = surface;
    this.shapes = shapes;
    try (Picture picture = new Picture()) {
      shapes.frame(picture);
      expected = picture.shown();
    }
  }

  /** Returns the benchmarks of a system's surfaces, of {@link Picture#WIDTH} and HEIGHT pixels. */
  public static List<Benchmark> benchmarks(Supplier<Surface> surfaces) {
    List<Benchmark> benchmarks = new ArrayList<>();
    for (Shapes shapes : Shapes.values()) {
      benchmarks.add(
          new Benchmark(
              "drawing/" + shapes.title,
              "shapes/s",
              Shapes.COUNT,
              () -> new Drawing(surfaces.get(), shapes)));
    }
    return benchmarks;
  }

  @Override
  public void run(int repetitions) {
    for (int repetition = 0; repetition < repetitions; repetition++) {
      shapes.frame(surface);
    }
  }

  @Override
  public void check() throws WrongAnswerException {
    String difference = Picture.difference(expected, surface.shown(), shapes.tolerancePixels);
    if (difference != null) {
      throw new WrongAnswerException("the picture of " + shapes.title + ": " + difference);
    }
  }

  @Override
  public void close() {
    surface.close();
  }
}
