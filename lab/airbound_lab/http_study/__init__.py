# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study http`."""
