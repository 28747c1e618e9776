# SPDX-License-Identifier: Apache-2.0
"""The lists of Debian packages, one for each door; a door has those before it as well (scripts/setup.sh)."""

from pathlib import Path

TOOLS = Path(__file__).parents[1]
DOORS = ("demo", "lab", "applications", "test", "series", "node")  # node: on its own, where the machine's is too old


def packages(door: str) -> list[str]:
    lines = (TOOLS / f"apt-packages-{door}.txt").read_text().splitlines()
    return [package for line in lines if (package := line.split("#")[0].strip())]


def test_each_list_is_a_door() -> None:
    assert {path.name for path in TOOLS.glob("apt-packages-*.txt")} == {f"apt-packages-{door}.txt" for door in DOORS}


def test_a_package_is_in_one_list_and_each_list_in_order() -> None:
    listed = [package for door in DOORS for package in packages(door)]
    assert sorted(listed) == sorted(set(listed))
    assert all(packages(door) == sorted(packages(door)) for door in DOORS)
