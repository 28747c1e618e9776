#!/usr/bin/python3 -SEB
# SPDX-License-Identifier: Apache-2.0
"""Process 1 of a guest without radios, for storage. As init.py, whose comments hold here as well."""

# ruff: noqa: E402, F401  (the order of the imports is the subject)
import contextlib
import ctypes
import json
import os
import signal
import sqlite3
import sys
import time
import traceback

sys.pycache_prefix = "/proc/none"
sys.path[0] = __file__.removesuffix("/airbound_lab/guest/storage_init.py")

from airbound_lab.guest import first_process, storage

first_process.run(storage.carry_out)
