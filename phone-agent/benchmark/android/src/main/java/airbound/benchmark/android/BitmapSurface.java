// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.android;

import airbound.benchmark.drawing.Picture;
import airbound.benchmark.drawing.Surface;
import android.graphics.Bitmap;
import android.graphics.Canvas;
import android.graphics.Paint;

/** Two bitmaps in memory, drawn by Android's canvas without smoothed edges. */
final class BitmapSurface implements Surface {
  private final Bitmap drawn = bitmap();
  private final Bitmap shown = bitmap();
  private final Canvas drawing = new Canvas(drawn);
  private final Canvas showing = new Canvas(shown);
  private final Paint paint = new Paint();

  BitmapSurface() {
    paint.setAntiAlias(false);
  }

  private static Bitmap bitmap() {
    return Bitmap.createBitmap(Picture.WIDTH, Picture.HEIGHT, Bitmap.Config.ARGB_8888);
  }

  @Override
  public void clear(int colour) {
    drawing.drawColor(colour);
  }

  @Override
  public void rectangle(int left, int top, int width, int height, int colour) {
    paint.setColor(colour);
    drawing.drawRect(left, top, left + width, top + height, paint);
  }

  /** From centre to centre of two pixels: Skia's lines of width 0 are one pixel wide. */
  @Override
  public void line(int fromX, int fromY, int toX, int toY, int colour) {
    paint.setColor(colour);
    drawing.drawLine(fromX + 0.5f, fromY + 0.5f, toX + 0.5f, toY + 0.5f, paint);
  }

  @Override
  public void circle(int x, int y, int radius, int colour) {
    paint.setColor(colour);
    drawing.drawCircle(x + 0.5f, y + 0.5f, radius + 0.5f, paint);
  }

  @Override
  public void show() {
    showing.drawBitmap(drawn, 0, 0, null);
  }

  @Override
  public int[] shown() {
    int[] pixels = new int[Picture.WIDTH * Picture.HEIGHT];
    shown.getPixels(pixels, 0, Picture.WIDTH, 0, 0, Picture.WIDTH, Picture.HEIGHT);
    return pixels;
  }

  @Override
  public void close() {
    drawn.recycle();
    shown.recycle();
  }
}
