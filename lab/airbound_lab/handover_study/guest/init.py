#!/usr/bin/python3 -SEB
# SPDX-License-Identifier: Apache-2.0
"""Process 1 of the guest of the study of handovers; airbound_lab/guest/init.py has the reasons for its form."""

# ruff: noqa: E402, F401  (the order of the imports is the subject)
import array
import contextlib
import ctypes
import fcntl
import functools
import json
import os
import signal
import socket
import struct
import sys
import time
import traceback
import typing

sys.pycache_prefix = "/proc/none"
sys.path[0] = __file__.removesuffix("/airbound_lab/handover_study/guest/init.py")

from airbound_lab.guest import first_process
from airbound_lab.handover_study.guest import main

first_process.run(main.carry_out)
