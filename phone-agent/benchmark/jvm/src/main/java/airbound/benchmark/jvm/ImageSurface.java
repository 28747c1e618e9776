// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.drawing.Picture;
import airbound.benchmark.drawing.Surface;
import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;

/** Two images in memory, drawn by AWT without a display. */
final class ImageSurface implements Surface {
  private final BufferedImage drawn = image();
  private final BufferedImage shown = image();
  private final Graphics2D drawing = drawn.createGraphics();
  private final Graphics2D showing = shown.createGraphics();

  ImageSurface() {
    // Else AWT moves curves by half a pixel.
    drawing.setRenderingHint(RenderingHints.KEY_STROKE_CONTROL, RenderingHints.VALUE_STROKE_PURE);
  }

  private static BufferedImage image() {
    return new BufferedImage(Picture.WIDTH, Picture.HEIGHT, BufferedImage.TYPE_INT_ARGB);
  }

  @Override
  public void clear(int colour) {
    rectangle(0, 0, Picture.WIDTH, Picture.HEIGHT, colour);
  }

  @Override
  public void rectangle(int left, int top, int width, int height, int colour) {
    drawing.setColor(new Color(colour, true));
    drawing.fillRect(left, top, width, height);
  }

  @Override
  public void line(int fromX, int fromY, int toX, int toY, int colour) {
    drawing.setColor(new Color(colour, true));
    drawing.drawLine(fromX, fromY, toX, toY);
  }

  @Override
  public void circle(int x, int y, int radius, int colour) {
    drawing.setColor(new Color(colour, true));
    drawing.fillOval(x - radius, y - radius, 2 * radius + 1, 2 * radius + 1);
  }

  @Override
  public void show() {
    showing.drawImage(drawn, 0, 0, null);
  }

  @Override
  public int[] shown() {
    return shown.getRGB(0, 0, Picture.WIDTH, Picture.HEIGHT, null, 0, Picture.WIDTH);
  }

  @Override
  public void close() {
    drawing.dispose();
    showing.dispose();
  }
}
