#!/usr/bin/python3 -SEB
# SPDX-License-Identifier: Apache-2.0
"""Process 1 of the guest. No package is installed in the guest: this one is found relative to this file."""

import sys

sys.path[0] = __file__.removesuffix("/airbound_lab/guest/init.py")

from airbound_lab.guest.main import main  # noqa: E402  (after the path is set)

main()
