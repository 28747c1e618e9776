# SPDX-License-Identifier: Apache-2.0
"""Go: which packages are mutated, how (gomutants/main.go), and which tests belong to them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mutants.mutant import Mutant, Place
from mutants.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOTS = ("ap-firmware/", "phone-agent/", "internal/", "uplink/")
_LISTER = Path(__file__).parent / "gomutants" / "main.go"


def _output(root: Path, *command: str, given: str = "") -> str:
    return subprocess.run(command, cwd=root, check=True, input=given, stdout=subprocess.PIPE, text=True).stdout


def _json_values(text: str) -> Iterator[dict[str, Any]]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        at += len(text[at:]) - len(text[at:].lstrip())


class Module:
    """The packages of the Go module and who uses whom."""

    def __init__(self, root: Path) -> None:
        self._root = root
        fields = "Dir,ImportPath,GoFiles,Deps,TestGoFiles,XTestGoFiles,TestImports,XTestImports"
        listed = list(_json_values(_output(root, "go", "list", f"-json={fields}", "./...")))
        self._packages = {package["ImportPath"]: package for package in listed}
        self._folders = {str(Path(package["Dir"]).relative_to(root)): package["ImportPath"] for package in listed}

    def files(self) -> list[str]:
        """The files that are compiled here: without commands, generated code, and fakes."""
        found = []
        for folder, name in sorted(self._folders.items()):
            skipped = "/cmd/" in f"{folder}/" or folder.endswith("test")
            if f"{folder}/".startswith(ROOTS) and not skipped:
                found += [f"{folder}/{file}" for file in self._packages[name].get("GoFiles", [])]
        return [file for file in found if not file.endswith(".pb.go")]

    def mutants(self, paths: list[str]) -> Iterator[Mutant]:
        """Every mutant of these files."""
        listed = _output(self._root, "go", "run", str(_LISTER), given="\n".join(paths))
        for line in listed.splitlines():
            edit = json.loads(line)
            place = Place(edit["file"], (edit["line"], edit["column"] - 1), edit["operator"].split()[0])
            yield Mutant(place, edit["operator"], lambda text, edit=edit: _apply(text, edit))  # type: ignore[misc]

    def stages(self, path: str) -> list[Stage]:
        """The commands that test a file: its package's tests, then those of the packages that use it."""
        name = self._folders[path.rpartition("/")[0]]
        command = ("go", "test", "-count=1", "-failfast", "-vet=off", "-trimpath")
        users = [user for user in self._packages if user != name and name in self._uses(user)]
        own = [name] if self._has_tests(name) else []
        users = [user for user in users if self._has_tests(user)]
        return [Stage((*command, *packages)) for packages in (own, users) if packages]

    def _has_tests(self, name: str) -> bool:
        package = self._packages[name]
        return bool(package.get("TestGoFiles") or package.get("XTestGoFiles"))

    def _uses(self, name: str) -> set[str]:
        package = self._packages[name]
        by_tests = {*package.get("TestImports", []), *package.get("XTestImports", [])}
        found = by_tests.union(package.get("Deps", []))
        for other in by_tests & self._packages.keys():
            found.update(self._packages[other].get("Deps", []))
        return found


def _apply(text: str, edit: dict[str, Any]) -> str:
    source = text.encode()
    mutated: bytes = source[: edit["start"]] + edit["text"].encode() + source[edit["end"] :]
    return mutated.decode()


def part(path: str) -> str:
    """What the table adds up: packages."""
    return path.rpartition("/")[0]
