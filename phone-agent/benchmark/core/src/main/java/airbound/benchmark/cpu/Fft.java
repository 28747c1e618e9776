// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.cpu;

import airbound.benchmark.measure.Workload;
import airbound.benchmark.measure.WrongAnswerException;

/**
 * SciMark 2's fast Fourier transform: complex numbers in place, radix 2, forwards and back. Factors
 * of unity are made by a recurrence, as in the original.
 */
final class Fft implements Workload {
  static final int LENGTH = 1024;
  private static final double ERROR_MAX = 1e-10;

  private final double[] original;
  final double[] data;

  Fft() {
    original = new ScimarkRandom(Kernels.SEED).vector(2 * LENGTH);
    data = original.clone();
  }

  /** Returns the operations of a transform and its inverse, as SciMark counts them. */
  static double flops(int length) {
    int log2 = Integer.numberOfTrailingZeros(length);
    return 2 * ((5.0 * length - 2) * log2 + 2.0 * (length + 1));
  }

  @Override
  public void run(int repetitions) {
    for (int repetition = 0; repetition < repetitions; repetition++) {
      transform(data);
      inverse(data);
    }
  }

  /** There and back is where it began; and one transform has the energy that Parseval says. */
  @Override
  public void check() throws WrongAnswerException {
    double square = 0;
    double energy = 0;
    for (int place = 0; place < data.length; place++) {
      double error = data[place] - original[place];
      square += error * error;
      energy += original[place] * original[place];
    }
    double error = Math.sqrt(square / data.length);
    Kernels.require(error <= ERROR_MAX, "FFT: there and back differs by %g (RMS)", error);
    double[] spectrum = original.clone();
    transform(spectrum);
    double found = 0;
    for (double part : spectrum) {
      found += part * part;
    }
    Kernels.require(
        Math.abs(found / LENGTH - energy) <= ERROR_MAX * energy,
        "FFT: the spectrum's energy is %g, not %g",
        found / LENGTH,
        energy);
    System.arraycopy(original, 0, data, 0, data.length);
  }

  /**
   * Transforms in place.
   *
   * @param data real and imaginary parts in turn; a power of two of complex numbers
   */
  static void transform(double[] data) {
    transform(data, -1);
  }

  /** Transforms back in place, and divides by the length. */
  static void inverse(double[] data) {
    transform(data, 1);
    double scale = 2.0 / data.length;
    for (int place = 0; place < data.length; place++) {
      data[place] *= scale;
    }
  }

  private static void transform(double[] data, int sign) {
    int length = data.length / 2;
    reverseBits(data, length);
    for (int half = 1; half < length; half *= 2) {
      double angle = sign * Math.PI / half;
      double sine = Math.sin(angle);
      double halfSine = Math.sin(angle / 2);
      double versine = 2 * halfSine * halfSine;
      butterflies(data, length, half, 0, 1, 0);
      double real = 1;
      double imaginary = 0;
      for (int offset = 1; offset < half; offset++) {
        double turned = real - sine * imaginary - versine * real;
        imaginary = imaginary + sine * real - versine * imaginary;
        real = turned;
        butterflies(data, length, half, offset, real, imaginary);
      }
    }
  }

  private static void butterflies(
      double[] data, int length, int half, int offset, double real, double imaginary) {
    for (int block = offset; block < length; block += 2 * half) {
      int upper = 2 * block;
      int lower = 2 * (block + half);
      double lowerReal = real * data[lower] - imaginary * data[lower + 1];
      double lowerImaginary = real * data[lower + 1] + imaginary * data[lower];
      data[lower] = data[upper] - lowerReal;
      data[lower + 1] = data[upper + 1] - lowerImaginary;
      data[upper] += lowerReal;
      data[upper + 1] += lowerImaginary;
    }
  }

  private static void reverseBits(double[] data, int length) {
    int shift = 32 - Integer.numberOfTrailingZeros(length);
    for (int place = 0; place < length; place++) {
      int other = length == 1 ? 0 : Integer.reverse(place) >>> shift;
      if (place < other) {
        swap(data, 2 * place, 2 * other);
        swap(data, 2 * place + 1, 2 * other + 1);
      }
    }
  }

  private static void swap(double[] data, int left, int right) {
    double kept = data[left];
    data[left] = data[right];
    data[right] = kept;
  }
}
