# SPDX-License-Identifier: Apache-2.0
"""`python -m mutants`; scripts/mutants.sh calls it."""

import sys

from mutants.cli import main

sys.exit(main())
