# SPDX-License-Identifier: Apache-2.0
"""The list of a release's parts: by the schema, and complete."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from release.parts import bom, file_hashes, go_modules, python_modules

LOCK = (Path(__file__).parents[2] / "controller/requirements.txt").read_text(encoding="utf-8")
GO = "std v1.26.8\ngoogle.golang.org/grpc v1.70.0\n"
TIME_S = 1_700_000_000


def document(files: dict[str, str]) -> str:
    programs = {"airbound-controller": python_modules(LOCK), "airbound-ap": go_modules(GO)}
    return bom("0.1.0", TIME_S, files, programs)


def test_it_is_as_the_schema_wants_it_and_always_the_same() -> None:
    text = document({"a.deb": "0" * 64})
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert text == document({"a.deb": "0" * 64})
    found = json.loads(text)
    assert (found["specVersion"], found["metadata"]["timestamp"]) == ("1.6", "2023-11-14T22:13:20+00:00")
    assert found["serialNumber"] != json.loads(document({"a.deb": "1" * 64}))["serialNumber"]


def test_each_module_is_there_with_its_version_and_who_uses_it() -> None:
    found: dict[str, Any] = json.loads(document({}))
    urls = {component.get("purl") for component in found["components"]}
    locked = re.findall(r"^([a-z0-9-]+)(?:\[\w+\])?==(\S+)", LOCK, re.MULTILINE)
    assert {f"pkg:pypi/{name}@{version}" for name, version in locked} <= urls
    assert {"pkg:golang/std@v1.26.8", "pkg:golang/google.golang.org/grpc@v1.70.0"} <= urls
    uses = {entry["ref"]: entry.get("dependsOn", []) for entry in found["dependencies"]}
    assert sorted(uses["program:airbound-ap"]) == [
        "pkg:golang/google.golang.org/grpc@v1.70.0", "pkg:golang/std@v1.26.8",
    ]  # fmt: skip
    assert sorted(uses["airbound"]) == ["program:airbound-ap", "program:airbound-controller"]


def test_files_go_by_their_hashes(tmp_path: Path) -> None:
    (tmp_path / "openwrt").mkdir()
    (tmp_path / "openwrt/a.ipk").write_bytes(b"abc")
    hashes = file_hashes(tmp_path)
    assert hashes == {"openwrt/a.ipk": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
    [file] = [component for component in json.loads(document(hashes))["components"] if component["type"] == "file"]
    assert file["hashes"] == [{"alg": "SHA-256", "content": hashes["openwrt/a.ipk"]}]


@pytest.mark.parametrize("listed", ["", "one\n", "a b c\n"])
def test_a_list_that_is_none_is_an_error(listed: str) -> None:
    with pytest.raises(ValueError, match=r"modules|unpack"):
        go_modules(listed)
    with pytest.raises(ValueError, match="no module"):
        python_modules(listed)
