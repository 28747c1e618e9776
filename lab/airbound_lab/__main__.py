# SPDX-License-Identifier: Apache-2.0
"""`python -m airbound_lab`."""

import sys

from airbound_lab.cli import main

sys.exit(main())
