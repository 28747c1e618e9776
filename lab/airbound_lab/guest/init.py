#!/usr/bin/python3 -SEB
# SPDX-License-Identifier: Apache-2.0
"""Process 1 of the guest. No package is installed in the guest: this one is found relative to this file."""

# ruff: noqa: E402, F401  (the order of the imports is the subject)
import contextlib
import ctypes
import functools
import json
import os
import signal
import socket
import sys
import time
import traceback
import typing

# Which of this package's modules the host has compiled already depends on what ran there before. It must not reach the
# guest: what Python reads and allocates decides where the kernel's memory lies, and a result follows from that. So
# they are compiled here each time; the modules above are the distribution's, always compiled.
sys.pycache_prefix = "/proc/none"
sys.path[0] = __file__.removesuffix("/airbound_lab/guest/init.py")

from airbound_lab.guest import first_process, main

first_process.run(main.carry_out)
