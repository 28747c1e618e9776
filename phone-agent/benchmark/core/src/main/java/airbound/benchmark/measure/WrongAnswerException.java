// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.measure;

import java.io.IOException;

/** A benchmark computed, drew or received something wrong, so its times mean nothing. */
public final class WrongAnswerException extends IOException {
  private static final long serialVersionUID = 1L;

  public WrongAnswerException(String message) {
    super(message);
  }
}
