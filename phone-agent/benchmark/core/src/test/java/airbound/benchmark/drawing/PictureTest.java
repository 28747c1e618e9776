// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.drawing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import airbound.benchmark.measure.Benchmark;
import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class PictureTest {
  private static final int WHITE = 0xffffffff;

  private static int[] frame(Shapes shapes) {
    try (Picture picture = new Picture()) {
      shapes.frame(picture);
      return picture.shown();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aFrameShowsMostOfItsShapes(Shapes shapes) {
    Set<Integer> colours = new HashSet<>();
    for (int pixel : frame(shapes)) {
      colours.add(pixel);
    }
    // Some are covered by others.
    assertTrue(colours.size() > Shapes.COUNT / 2, colours.size() + " colours");
    assertTrue(colours.contains(Shapes.BACKGROUND));
  }

  @ParameterizedTest
  @EnumSource
  void aFrameIsTheSameEachTime(Shapes shapes) {
    int[] frame = frame(shapes);
    assertNull(Picture.difference(frame, frame(shapes), 0));
  }

  @Test
  void aPictureMovedByOnePixelIsAcceptedOnlyWithTolerance() {
    int[] expected = square(100, 100);
    assertNull(Picture.difference(expected, square(101, 101), 1));
    assertNotNull(Picture.difference(expected, square(101, 100), 0));
    assertNotNull(Picture.difference(expected, square(102, 100), 1));
  }

  private static int[] square(int left, int top) {
    try (Picture picture = new Picture()) {
      picture.clear(Shapes.BACKGROUND);
      picture.rectangle(left, top, 20, 20, WHITE);
      picture.show();
      return picture.shown();
    }
  }

  @Test
  void aMissingShapeAndAnotherColourAreDifferences() {
    int[] empty = new int[Picture.WIDTH * Picture.HEIGHT];
    Arrays.fill(empty, Shapes.BACKGROUND);
    assertNotNull(Picture.difference(frame(Shapes.LINES), empty, 1));
    assertNotNull(Picture.difference(empty, frame(Shapes.LINES), 1));
    int[] other = frame(Shapes.CIRCLES);
    other[Picture.WIDTH * 150 + 200] ^= 0x010000;
    assertEquals(
        "pixel (200, 150)", Picture.difference(frame(Shapes.CIRCLES), other, 1).substring(0, 16));
    assertNotNull(Picture.difference(empty, new int[1], 1));
  }

  @Test
  void whatIsDrawnIsNotShownBeforeItIsToBe() {
    try (Picture picture = new Picture()) {
      picture.clear(WHITE);
      assertEquals(0, picture.shown()[0]);
      picture.show();
      assertEquals(WHITE, picture.shown()[0]);
    }
  }

  @Test
  void aSurfaceThatDrawsNothingHasFailed() throws IOException {
    for (Benchmark benchmark : Drawing.benchmarks(PictureTest::lazy)) {
      try (Workload workload = benchmark.open()) {
        workload.run(2);
        WrongAnswerException error = assertThrows(WrongAnswerException.class, workload::check);
        assertTrue(error.getMessage().startsWith("the picture of "), error.getMessage());
      }
    }
    for (Benchmark benchmark : Drawing.benchmarks(Picture::new)) {
      try (Workload workload = benchmark.open()) {
        workload.run(2);
        workload.check();
      }
    }
  }

  private static Surface lazy() {
    return new Surface() {
      @Override
      public void clear(int colour) {}

      @Override
      public void rectangle(int left, int top, int width, int height, int colour) {}

      @Override
      public void line(int fromX, int fromY, int toX, int toY, int colour) {}

      @Override
      public void circle(int x, int y, int radius, int colour) {}

      @Override
      public void show() {}

      @Override
      public int[] shown() {
        return new int[Picture.WIDTH * Picture.HEIGHT];
      }

      @Override
      public void close() {}
    };
  }
}
