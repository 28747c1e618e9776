# SPDX-License-Identifier: Apache-2.0
"""What gRPC's Python layer logs, without what is no error: a peer that is gone when it is to be sent something."""

import logging

LOGGER = "grpc._cython.cygrpc"
_GONE = "ExecuteBatchError"  # of gRPC's own, for a call whose connection has ended


def _is_of_ours(record: logging.LogRecord) -> bool:
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or kind.__name__ != _GONE


def without_gone_peers() -> None:
    """From now on, in this process."""
    logging.getLogger(LOGGER).addFilter(_is_of_ours)
