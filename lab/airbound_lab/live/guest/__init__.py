# SPDX-License-Identifier: Apache-2.0
"""What runs in the guest of a live cell: the standard library only, as in airbound_lab.guest."""
