# SPDX-License-Identifier: Apache-2.0
"""Several controllers that work as one: who owns which cell, and how a terminal's stream reaches its cell's owner."""
