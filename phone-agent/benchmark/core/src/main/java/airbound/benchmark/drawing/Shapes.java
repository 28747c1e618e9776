// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.drawing;

import java.util.Random;

/** The kinds of shapes that a frame consists of; each frame of a kind is the same. */
public enum Shapes {
  RECTANGLES("rectangles", 0) {
    @Override
    void drawOne(Surface surface, Random random, int colour) {
      int width = 10 + random.nextInt(Picture.WIDTH / 4);
      int height = 10 + random.nextInt(Picture.HEIGHT / 4);
      surface.rectangle(
          random.nextInt(Picture.WIDTH - width),
          random.nextInt(Picture.HEIGHT - height),
          width,
          height,
          colour);
    }
  },
  LINES("lines", 1) {
    @Override
    void drawOne(Surface surface, Random random, int colour) {
      surface.line(
          random.nextInt(Picture.WIDTH),
          random.nextInt(Picture.HEIGHT),
          random.nextInt(Picture.WIDTH),
          random.nextInt(Picture.HEIGHT),
          colour);
    }
  },
  CIRCLES("circles", 1) {
    @Override
    void drawOne(Surface surface, Random random, int colour) {
      int radius = 5 + random.nextInt(Picture.HEIGHT / 8);
      surface.circle(
          radius + random.nextInt(Picture.WIDTH - 2 * radius),
          radius + random.nextInt(Picture.HEIGHT - 2 * radius),
          radius,
          colour);
    }
  };

  /** In a frame. */
  public static final int COUNT = 25;

  static final int BACKGROUND = 0xff000000;
  private static final int SEED = 1;

  /** The name in results. */
  public final String title;

  /** How many pixels an edge may lie beside the reference's: renderers round in their own ways. */
  final int tolerancePixels;

  Shapes(String title, int tolerancePixels) {
    this.title = title;
    this.tolerancePixels = tolerancePixels;
  }

  /** Draws a frame and shows it. */
  void frame(Surface surface) {
    Random random = new Random(SEED);
    surface.clear(BACKGROUND);
    for (int shape = 0; shape < COUNT; shape++) {
      drawOne(surface, random, colour(shape));
    }
    surface.show();
  }

  /** Returns a colour for each shape of a frame, none twice. */
  private static int colour(int shape) {
    return 0xff000000 | (0x30 + 5 * shape) << 16 | (0xff - 7 * shape) << 8 | (0x40 + 6 * shape);
  }

  abstract void drawOne(Surface surface, Random random, int colour);
}
