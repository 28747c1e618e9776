// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.drawing;

import java.util.Arrays;
import java.util.Locale;

/** The reference: a surface of our own, slow and simple, that others' pictures are compared to. */
public final class Picture implements Surface {
  /** The size of every frame, in pixels: that of the smaller phone of the paper's, turned. */
  public static final int WIDTH = 480;

  public static final int HEIGHT = 320;

  private final int[] drawn = new int[WIDTH * HEIGHT];
  private final int[] shown = new int[WIDTH * HEIGHT];

  @Override
  public void clear(int colour) {
    Arrays.fill(drawn, colour);
  }

  @Override
  public void rectangle(int left, int top, int width, int height, int colour) {
    for (int y = top; y < top + height; y++) {
      Arrays.fill(drawn, y * WIDTH + left, y * WIDTH + left + width, colour);
    }
  }

  /** One pixel for each step along the longer side. */
  @Override
  public void line(int fromX, int fromY, int toX, int toY, int colour) {
    int steps = Math.max(Math.abs(toX - fromX), Math.abs(toY - fromY));
    for (int step = 0; step <= steps; step++) {
      double part = steps == 0 ? 0 : (double) step / steps;
      long x = Math.round(fromX + part * (toX - fromX));
      long y = Math.round(fromY + part * (toY - fromY));
      drawn[(int) (y * WIDTH + x)] = colour;
    }
  }

  /** Pixels whose centre is within radius + 1/2 of the circle's centre. */
  @Override
  public void circle(int x, int y, int radius, int colour) {
    double edge = (radius + 0.5) * (radius + 0.5);
    for (int down = -radius; down <= radius; down++) {
      for (int right = -radius; right <= radius; right++) {
        if (right * right + down * down <= edge) {
          drawn[(y + down) * WIDTH + x + right] = colour;
        }
      }
    }
  }

  @Override
  public void show() {
    System.arraycopy(drawn, 0, shown, 0, drawn.length);
  }

  @Override
  public int[] shown() {
    return shown.clone();
  }

  @Override
  public void close() {}

  /**
   * Compares two pictures: each pixel of either is in the other, at its place or at most {@code
   * tolerancePixels} beside it.
   *
   * @param tolerancePixels 0 or more
   * @return null if so, else the first pixel that is not, in words
   */
  static String difference(int[] expected, int[] found, int tolerancePixels) {
    if (expected.length != found.length) {
      return String.format(Locale.ROOT, "it has %d pixels, not %d", found.length, expected.length);
    }
    for (int y = 0; y < HEIGHT; y++) {
      for (int x = 0; x < WIDTH; x++) {
        int here = y * WIDTH + x;
        if (!near(found, x, y, expected[here], tolerancePixels)
            || !near(expected, x, y, found[here], tolerancePixels)) {
          return String.format(
              Locale.ROOT, "pixel (%d, %d) is #%08x, not #%08x", x, y, found[here], expected[here]);
        }
      }
    }
    return null;
  }

  private static boolean near(int[] pixels, int x, int y, int colour, int tolerancePixels) {
    if (pixels[y * WIDTH + x] == colour) {
      return true;
    }
    int lastRow = Math.min(y + tolerancePixels, HEIGHT - 1);
    int lastColumn = Math.min(x + tolerancePixels, WIDTH - 1);
    for (int row = Math.max(y - tolerancePixels, 0); row <= lastRow; row++) {
      for (int column = Math.max(x - tolerancePixels, 0); column <= lastColumn; column++) {
        if (pixels[row * WIDTH + column] == colour) {
          return true;
        }
      }
    }
    return false;
  }
}
