# SPDX-License-Identifier: Apache-2.0
"""What a run of the checks shows at its end, from what its steps left in a directory (scripts/check-step.sh)."""
