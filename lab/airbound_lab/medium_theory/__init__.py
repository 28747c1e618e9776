# SPDX-License-Identifier: Apache-2.0
"""802.11 in formulas: what the lab's medium is compared with, and where its table of error rates comes from."""
