# SPDX-License-Identifier: Apache-2.0
"""An error of the controller while it decided, as a reason."""

import traceback

from airbound.core.cell.state import CellState
from airbound.core.effects import Note, repeated_level
from airbound.core.policy.outside import PolicyFailedError
from airbound.core.reasons import Code, Reason

ERROR_MAX_CHARACTERS = 200


def internal_error(error: Exception) -> Reason:
    """What was raised, and where."""
    if isinstance(error, PolicyFailedError):  # which says where itself
        return Reason(Code.INTERNAL_ERROR, str(error)[:ERROR_MAX_CHARACTERS])
    where = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}"[:ERROR_MAX_CHARACTERS]
    return Reason(Code.INTERNAL_ERROR, f"{what}, in {where.name}, line {where.lineno}")


def failed(cell: CellState, reason: Reason, count: int, terminal: str = "") -> Note:
    """A decision of a cell, or of a terminal of a name, ended in an error, for the `count`th time."""
    return Note(repeated_level(count), "failed", terminal or cell.name, (reason,), terminal=terminal, cell=cell.bssid)
