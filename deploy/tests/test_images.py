# SPDX-License-Identifier: Apache-2.0
"""Dockerfiles: hadolint's rules and ours; what is installed has a version and a hash."""

import re
import subprocess
from pathlib import Path
from typing import Any

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


def instructions(text: str) -> list[list[str]]:
    """Words of each instruction, comments and continued lines resolved."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return [line.split() for line in re.sub(r"\\\n\s*", " ", lines).splitlines() if line]


def stages(text: str) -> list[list[list[str]]]:
    """Instructions of each stage, FROM first; those before the first FROM are left out."""
    found: list[list[list[str]]] = []
    for words in instructions(text):
        if words[0] == "FROM":
            found.append([])
        if found:
            found[-1].append(words)
    return found


def copied(stage: list[list[str]]) -> list[str]:
    """Sources in the context."""
    return [
        source
        for name, *words in stage
        if name == "COPY" and not words[0].startswith("--from=")
        for source in words[:-1]
        if not source.startswith("--")
    ]


def ignored(path: str, patterns: list[str]) -> bool:
    """Whether .dockerignore leaves a path out: the last pattern that matches the path or a folder above it decides."""
    parts = path.split("/")
    places = ["/".join(parts[: length + 1]) for length in range(len(parts))]
    found = False
    for pattern in patterns:
        expression = re.escape(pattern.removeprefix("!")).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
        if any(re.fullmatch(expression, place) for place in places):
            found = not pattern.startswith("!")
    return found


def not_in_context(stage: list[list[str]], tracked: list[str], patterns: list[str]) -> list[str]:
    """Sources of which git has no file, or .dockerignore leaves none."""
    there = [path for path in tracked if not ignored(path, patterns)]
    return [
        source
        for source in copied(stage)
        if source != "." and not any(f"{path}/".startswith(f"{source}/") for path in there)
    ]


def unused_arguments(stage: list[list[str]], scripts: dict[str, str]) -> list[str]:
    """ARGs that nothing names after them: no instruction, no script of the context that was copied, and no pip, which
    takes its PIP_... from the environment."""
    found = []
    for number, (name, *words) in enumerate(stage):
        argument = words[0].partition("=")[0] if name == "ARG" else ""
        after = " ".join(word for later in stage[number + 1 :] for word in later)
        text = after + " ".join(scripts.get(source, "") for source in copied(stage))
        if argument and argument not in text and not (argument.startswith("PIP_") and re.search('pip"? install', text)):
            found.append(argument)
    return found


@pytest.fixture(scope="module")
def tracked(root: Path) -> list[str]:
    return subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.parametrize("dockerfile", ALL)
def test_what_is_copied_is_in_the_context_and_arguments_are_used(
    root: Path, tracked: list[str], dockerfile: str
) -> None:
    patterns = [
        line for line in (root / ".dockerignore").read_text(encoding="utf-8").split("\n") if line and line[0] != "#"
    ]
    scripts = {path: (root / path).read_text(encoding="utf-8") for path in tracked if path.endswith(".sh")}
    for stage in stages((root / dockerfile).read_text(encoding="utf-8")):
        assert not_in_context(stage, tracked, patterns) == []
        assert unused_arguments(stage, scripts) == []


def test_these_rules_find_what_is_wrong() -> None:
    text = (
        "ARG X\nFROM a AS b\nCOPY --from=c /x /y\n# x\nCOPY a/b gone \\\n tests/d ./\nARG USED\nARG NOT=1\nRUN f $USED"
    )
    [stage] = stages(text)
    assert copied(stage) == ["a/b", "gone", "tests/d"]
    assert not_in_context(stage, ["a/b/c.py", "gone.py", "tests/d"], ["**/tests"]) == ["gone", "tests/d"]
    assert not_in_context(stage, ["a/b/c.py", "gone/x", "tests/d"], ["**/tests", "!tests/d"]) == []
    assert unused_arguments(stage, {}) == ["NOT"]
    assert unused_arguments(stage, {"a/b": "echo $NOT"}) == []
    assert unused_arguments([["ARG", "PIP_INDEX_URL"], ["RUN", "pip", "install", "x"]], {}) == []
    assert [ignored(path, ["**/*.log", "a/*"]) for path in ("x.log", "b/x.log", "a/b/c", "a", "ab")] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_compose_gives_arguments_that_there_are(root: Path, compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        if "build" in service:
            text = (root / service["build"]["dockerfile"]).read_text(encoding="utf-8")
            declared = {words[1].partition("=")[0] for words in instructions(text) if words[0] == "ARG"}
            assert set(service["build"]["args"]) <= declared, name


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
    assert "build.sh --line 6.12)" in stage
    of_line = hashed.partition("\t6.12)\n")[2].partition(";;")[0]
    (patches,) = re.findall(r"patches=(\S+)", of_line)
    (line_config,) = re.findall(r"line_config=(\S+)", of_line)
    wanted = f"kernel/patches/6.12{inputs}"
    for words, meaning in (
        ("kernel/configs/{airbound,kunit}.config", "kernel/configs/airbound.config kernel/configs/kunit.config"),
        ('"$patches"', patches),
        ('${line_config:+"$line_config"}', line_config),
    ):
        assert words in wanted
        wanted = wanted.replace(words, meaning)
    assert found == {word for word in wanted.split() if word != "\\"}


def test_what_setup_installs_from_the_repository_is_in_the_context(root: Path) -> None:
    """The lab's image runs scripts/setup.sh, which installs folders with a pyproject.toml of their own."""
    folders = re.findall(r"-e ([\w/]+)", (root / "scripts/setup.sh").read_text(encoding="utf-8"))
    patterns = (root / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {"controller", "lab"} <= set(folders)
    assert [folder for folder in folders if ignored(f"{folder}/pyproject.toml", patterns)] == []
