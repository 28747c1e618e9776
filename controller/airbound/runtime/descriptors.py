# SPDX-License-Identifier: Apache-2.0
"""How many connections a process may have by its limit of open files (RLIMIT_NOFILE, getrlimit(2)). At that limit
nothing can be accepted on any port, nor a file be read.
"""

import resource

KEPT_FREE = 500  # files, the store, operators, enrolment, metrics


def connections_max(wanted: int) -> int:
    """So many connections of agents as are wanted and possible; the process may have as many files open as it is
    allowed to ask for from now on.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = wanted + KEPT_FREE
    if soft != resource.RLIM_INFINITY and soft < min(hard, wanted + KEPT_FREE):
        soft = min(hard, wanted + KEPT_FREE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft - KEPT_FREE))
