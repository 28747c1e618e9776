#!/usr/bin/python3 -SEB
# SPDX-License-Identifier: Apache-2.0
"""Process 1 of a live cell's guest. No package is installed in the guest: this one is found relative to this file."""

import sys

sys.path[0] = __file__.removesuffix("/airbound_lab/live/guest/init.py")

from airbound_lab.guest import first_process  # noqa: E402  (after the path is set)
from airbound_lab.live.guest import main  # noqa: E402

first_process.run(main.carry_out)
