# SPDX-License-Identifier: Apache-2.0
"""`airbound check`: what Airbound brings in one cell, with and without, turn by turn."""
