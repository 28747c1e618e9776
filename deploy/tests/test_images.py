# SPDX-License-Identifier: Apache-2.0
"""Dockerfiles: hadolint's rules and ours; what is installed has a version and a hash."""

import re
import subprocess
from pathlib import Path

import pytest

DOCKERFILES = ("controller/Dockerfile", "deploy/haproxy/Dockerfile", "lab/live.Dockerfile")
ALL = (*DOCKERFILES, "lab/Dockerfile", "deploy/tests/stand-ins/redis.Dockerfile",
       "deploy/tests/stand-ins/prometheus.Dockerfile")  # fmt: skip
# DL3006: the base is the argument BASE. DL3008: Debian's versions are those of its release, with security updates.
# DL3002, DL3049: the lab's image starts as root on purpose, see lab/run-as-owner.sh.
IGNORED = ("DL3006", "DL3008")


@pytest.mark.parametrize("dockerfile", ALL)
def test_hadolint(root: Path, dockerfile: str) -> None:
    options = [word for rule in IGNORED for word in ("--ignore", rule)]
    subprocess.run(["hadolint", *options, str(root / dockerfile)], check=True)


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_ours(root: Path, dockerfile: str) -> None:
    text = (root / dockerfile).read_text(encoding="utf-8")
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"${BASE}"}
    assert re.search(r"^ARG BASE=debian:bookworm-slim$", text, re.MULTILINE)
    assert re.search(r"^USER \d+:\d+$", text, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK ", text, re.MULTILINE)
    assert "--mount" not in text  # BuildKit's
    for label in ("title", "description", "licenses", "version", "revision", "created"):
        assert f"org.opencontainers.image.{label}=" in text


def locked(path: Path) -> dict[str, set[str]]:
    """Requirements with their hashes."""
    found: dict[str, set[str]] = {}
    name = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.match(r"[a-z0-9]", line):
            name = line.partition(" ;")[0].rstrip(" \\")
            found[name] = set()
        elif "--hash=" in line:
            found[name].add(line.partition("--hash=")[2].rstrip(" \\"))
    return found


@pytest.mark.parametrize(
    "name",
    [
        "controller/requirements.txt",
        "controller/openflow-requirements.txt",
        "controller/build-requirements.txt",
        "lab/live-requirements.txt",
    ],
)
def test_an_image_has_the_versions_that_everything_is_tested_with(root: Path, name: str) -> None:
    of_image, of_all = locked(root / name), locked(root / "tools" / "requirements.txt")
    assert of_image
    for requirement, hashes in of_image.items():
        assert hashes, requirement
        assert of_all.get(requirement) == hashes, f"{requirement}: scripts/lock.sh"


def test_an_image_has_all_that_the_controller_needs(root: Path) -> None:
    project = (root / "controller" / "pyproject.toml").read_text(encoding="utf-8")
    wanted = re.findall(r'^    "([a-z-]+)[\[<>=]', project, re.MULTILINE)
    there = {requirement.partition("==")[0] for requirement in locked(root / "controller" / "requirements.txt")}
    assert len(wanted) > 5
    assert set(wanted) <= there


def test_the_kernel_of_a_live_cell_is_built_anew_only_for_what_it_is_made_of(root: Path) -> None:
    dockerfile = (root / "lab" / "live.Dockerfile").read_text(encoding="utf-8")
    stage = dockerfile.partition(" AS kernel\n")[2].partition("\nFROM ")[0]
    copied = [words.split()[:-1] for words in re.findall(r"^COPY (.*)$", stage, re.MULTILINE)]
    found = {path for words in copied for path in words} - {"deploy/images/debian-packages.sh"}
    hashed = (root / "lab" / "kernel" / "build.sh").read_text(encoding="utf-8")
    inputs = hashed.partition('find "kernel/patches/$line"')[2].partition("-type f")[0]
    of_6_1 = hashed.partition("\t6.1)\n")[2].partition(";;")[0]
    (patches,) = re.findall(r"patches=(\S+)", of_6_1)
    assert "line_config=\n" in of_6_1
    wanted = f"kernel/patches/6.1{inputs}"
    for words, meaning in (
        ("kernel/configs/{airbound,kunit}.config", "kernel/configs/airbound.config kernel/configs/kunit.config"),
        ('"$patches"', patches),
        ('${line_config:+"$line_config"}', ""),
    ):
        assert words in wanted
        wanted = wanted.replace(words, meaning)
    assert found == {word for word in wanted.split() if word != "\\"}
