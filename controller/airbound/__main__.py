# SPDX-License-Identifier: Apache-2.0
"""`python -m airbound`."""

import sys

from airbound.cli import main

if __name__ == "__main__":
    sys.exit(main())
