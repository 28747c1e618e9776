// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import java.util.List;
import java.util.Locale;

/** How a virtual machine executes: each is a virtual machine of its own. */
enum Mode {
  /** Interpreter, C1 and C2, as a JVM does without options. */
  JIT,
  /** The interpreter and the simple compiler alone. */
  C1,
  /** Only the interpreter: the kind of machine that Dalvik of Android 1.6 was. */
  INTERPRETER;

  /** Returns the virtual machine's options. */
  List<String> options() {
    return switch (this) {
      case JIT -> List.of();
      case C1 -> List.of("-XX:TieredStopAtLevel=1");
      case INTERPRETER -> List.of("-Xint");
    };
  }

  /** Returns the name in results. */
  String title() {
    return name().toLowerCase(Locale.ROOT);
  }
}
