# SPDX-License-Identifier: Apache-2.0
"""An error of the controller while it decided, as a reason."""

import traceback

from airbound.core.reasons import Code, Reason

ERROR_MAX_CHARACTERS = 200


def internal_error(error: Exception) -> Reason:
    """What was raised, and where."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}"[:ERROR_MAX_CHARACTERS]
    return Reason(Code.INTERNAL_ERROR, f"{what}, in {where.name}, line {where.lineno}")


def is_logged(failures_total: int) -> bool:
    """The log gets the 1st, 2nd, 4th, 8th, ... of what may repeat itself every second."""
    return not failures_total & (failures_total - 1)
