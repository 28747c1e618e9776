# SPDX-License-Identifier: Apache-2.0
"""The table of replicas."""

from airbound.operator import replicas
from airbound.v1 import replicas_pb2


def test_each_column_has_a_name_and_each_replica_a_state() -> None:
    """A narrow terminal names the columns that it leaves out."""
    answer = replicas_pb2.ListReplicasResponse(
        store="memory",
        replicas=[
            replicas_pb2.Replica(name="a", version="1", answers=True),
            replicas_pb2.Replica(name="b", version="1"),
            replicas_pb2.Replica(name="c", version="1", answers=True, stopping=True),
        ],
    )
    head, *rows = replicas.replicas(answer, 0.0).splitlines()
    assert head.endswith("  STATE")
    assert [row.split()[-1] for row in rows[:3]] == ["answers", "silent", "stopping"]
