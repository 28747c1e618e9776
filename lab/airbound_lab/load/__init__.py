# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab load`: the controller under load, without a guest."""
