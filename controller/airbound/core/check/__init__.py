# SPDX-License-Identifier: Apache-2.0
"""A check: what a cell carries with Airbound and without, turn by turn."""
