# SPDX-License-Identifier: Apache-2.0
"""What runs in the guest of the study of handovers: the standard library only, as in airbound_lab.guest."""
