# SPDX-License-Identifier: Apache-2.0
"""Airbound's controller: sees whole Wi-Fi cells and gives each phone's kernel a range for its congestion windows."""

__version__ = "0.1.0"
