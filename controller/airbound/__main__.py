# SPDX-License-Identifier: Apache-2.0
"""`python -m airbound`."""

import sys

from airbound.operator.cli import main

if __name__ == "__main__":
    sys.exit(main())
