# SPDX-License-Identifier: Apache-2.0
"""`python -m names FILE...`; scripts/lint.sh calls it with all Python files of the repository."""

import sys

from names.python_names import main

sys.exit(main(sys.argv[1:]))
