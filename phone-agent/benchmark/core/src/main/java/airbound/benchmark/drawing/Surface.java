// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.drawing;

/** Two buffers of pixels: shapes are drawn into one, and shown by a copy to the other. */
public interface Surface extends AutoCloseable {
  /** Fills the buffer that is drawn to; colours are 0xAARRGGBB. */
  void clear(int colour);

  /** Fills a rectangle. */
  void rectangle(int left, int top, int width, int height, int colour);

  /** Draws a line one pixel wide, both ends included. */
  void line(int fromX, int fromY, int toX, int toY, int colour);

  /** Fills a circle of {@code 2 * radius + 1} pixels across. */
  void circle(int x, int y, int radius, int colour);

  /** Copies what was drawn to the buffer that is shown. */
  void show();

  /** Returns the pixels that are shown, by rows. */
  int[] shown();

  @Override
  void close();
}
