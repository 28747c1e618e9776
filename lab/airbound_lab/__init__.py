# SPDX-License-Identifier: Apache-2.0
"""The cell in a box: boots a whole Wi-Fi cell under User Mode Linux in virtual time, and measures it."""
