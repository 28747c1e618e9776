# SPDX-License-Identifier: Apache-2.0
"""What can be said of a command without running it: its program takes these options, and what it names is there."""

import re
import subprocess
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from documents import options, simple_commands

from airbound.operator.cli import parser
from airbound_lab import cli as lab
from airbound_lab.compare import batch
from airbound_lab.errors import UsageError

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "controller/pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
OPENWRT = ROOT / "ap-firmware/openwrt/airbound-ap"
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]


def check(text: str) -> None:
    """Check each simple command of a command line.

    Raises:
        AssertionError: with what is wrong.
    """
    found = simple_commands(text)
    assert found, f"{text}: no command"
    for command in found:
        assert command.program in PROGRAMS, f"{text}: nobody knows how to check {command.program}"
        try:
            PROGRAMS[command.program](command.words)
        except SystemExit as error:
            raise AssertionError(f"{text}: wrong usage, see above") from error


@cache
def printed(*command: str) -> str:
    """What a program prints, also where it fails."""
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    return done.stdout + done.stderr


def listed(words: list[str], *help_command: str) -> None:
    """Each option is one that the help lists."""
    text = printed(*help_command)
    for option in options(words):
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text), f"{help_command}: no {option} in {text}"


def controller(words: list[str]) -> None:
    """Airbound's own parser reads it; `...` stands for more options."""
    parser().parse_args([word for word in words if word != "..."])


def laboratory(words: list[str]) -> None:
    """The lab's own parser reads it, a run's modes and numbers are ones that there are, a comparison can be planned."""
    if words[0] == "load":
        agent("airbound-load")(words[1:])
        return
    arguments = lab._parser().parse_args(words)
    if words[0] == "run":
        try:
            lab._parameters(arguments)
        except UsageError as error:
            raise AssertionError(f"{words}: {error}") from error
    elif words[0] == "compare" or words[:2] == ["study", "paper"]:
        # It needs a kernel, also to list or to find what is stored.
        nothing = mock.Mock(return_value=None)
        with mock.patch.multiple(batch, carry_out=nothing, stored=nothing):
            assert lab.main(words) == 0, words


def agent(program: str) -> Callable[[list[str]], None]:
    """The program's own parser reads all options that stand before `--help`; what a device joins by stands last."""

    def check(words: list[str]) -> None:
        given = [word for word in words if word not in {"...", "-"} and not word.startswith("airbound1:")]
        path = ROOT / "build" / program
        assert path.exists(), f"{path}: scripts/build.sh"
        done = subprocess.run([path, *given, "--help"], check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"{program} {given}: {done.stderr}"

    return check


def make(words: list[str]) -> None:
    """A target of the Makefile; of OpenWrt's build system, the feed has the package."""
    for word in words:
        if word.startswith("package/"):
            assert (ROOT / "ap-firmware/openwrt" / word.split("/")[1] / "Makefile").exists(), word
        elif "=" not in word:
            assert re.search(rf"^{word}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), word


def docker(words: list[str]) -> None:
    """Compose has the subcommand's options, and the file the services. Debian's Compose 1 is asked: what Compose 2 says
    is seen where the commands run (test_long_commands.py).
    """
    if words[0] == "tag":
        assert words[1] in {service["image"].partition(":-")[2].rstrip("}") for service in SERVICES.values()}, words
        return
    assert words[0] == "compose", words
    subcommand, *rest = words[1:]
    place = next((number for number, word in enumerate(rest) if word in SERVICES), len(rest))
    assert re.search(rf"^ +{subcommand} ", printed("docker-compose", "--help"), re.MULTILINE), words
    listed(rest[:place], "docker-compose", subcommand, "--help")
    if subcommand == "run":
        service, *command = rest[place:]
        if command and "controller/Dockerfile" in str(SERVICES[service].get("build")):
            controller(command) if command != ["--help"] else None


def script(program: str) -> Callable[[list[str]], None]:
    """Its help lists the options and names the subcommand."""

    def check(words: list[str]) -> None:
        listed(words, program, "--help")
        if program.endswith("volumes.sh"):
            assert f"{program} {words[0]}" in printed(program, "--help"), words

    return check


def benchmark(words: list[str]) -> None:
    """The class of the subcommand has the options."""
    source = ROOT / f"phone-agent/benchmark/jvm/src/main/java/airbound/benchmark/jvm/{words[0].title()}Command.java"
    text = source.read_text(encoding="utf-8")
    for option in options(words):
        assert f'names = "{option}"' in text, f"{source}: no {option}"


def uci(words: list[str]) -> None:
    """The package's configuration has the option, set or as an example, as a list or as one value."""
    text = (OPENWRT / "files/airbound.config").read_text(encoding="utf-8")
    assert words[0] in {"set", "add_list", "commit"}, words
    package, *more = words[1].partition("=")[0].split(".")
    assert re.search(rf"^config {package} ", text, re.MULTILINE), words
    if more:
        section, option = more
        kind = "list" if words[0] == "add_list" else "option"
        assert f"config {package} '{section}'" in text, words
        assert re.search(rf"^\t#?{kind} {option} ", text, re.MULTILINE), words


def package(words: list[str]) -> None:
    """The names that scripts/packages.sh and scripts/controller-package.sh make, of this version and an architecture
    that there is.
    """
    if words == ["update"]:
        return
    architectures = (ROOT / "ap-firmware/openwrt/architectures.txt").read_text(encoding="utf-8")
    names = [word for word in words if "airbound" in word]
    assert names, words
    for word in names:
        name = re.fullmatch(
            rf"(?:(?:\./|/tmp/)|.*build/packages/(?P<folder>\w+)/)?"
            rf"(?P<name>airbound-ap|airbound-controller|airbound-phone|airbound-handover|luci-app-airbound)"
            rf"(?:-{VERSION}-r1\.apk|_{VERSION}-r1_(?P<of>\w+)\.ipk|_{VERSION}-1_amd64\.deb)?", word
        )  # fmt: skip
        assert name, word
        for architecture in filter(None, (name["folder"], name["of"])):
            assert re.search(rf"^{architecture}\b", architectures, re.MULTILINE), word


def feed(words: list[str]) -> None:
    """What the feed and the source package are."""
    for word in (word for word in " ".join(words).split() if "/path/to/airbound/" in word):
        there = word.removeprefix("/path/to/airbound/")
        assert (ROOT / there).exists() or there == f"build/packages/airbound-{VERSION}.tar.gz", word


def download(words: list[str]) -> None:
    """From a feed, a public key of those that a release has."""
    [url] = [word for word in words if word.startswith("https://")]
    assert re.fullmatch(r"https://feed\.example/openwrt/keys/(airbound\.pem|FINGERPRINT)", url), words


def service(words: list[str]) -> None:
    """The unit or the init script is there."""
    names = [word for word in words if word.startswith("airbound")]
    assert names, words
    for name in names:
        unit = ROOT / f"phone-agent/debian/files/{name}.service"
        assert unit.exists() or (OPENWRT / f"files/{name}.init").exists(), name


def adb(words: list[str]) -> None:
    """The module's file, or its command; of the benchmark, the manifest's names and version. Others are Android's."""
    if words[0] == "reverse" or words[:3] == ["shell", "svc", "power"]:
        return
    if "airbound.benchmark" in " ".join(words) or "airbound-benchmark" in words[-1]:
        manifest = (ROOT / "phone-agent/benchmark/android/src/main/AndroidManifest.xml").read_text(encoding="utf-8")
        known = ("airbound.benchmark", "airbound.benchmark/.android.MainActivity")
        version = re.search(r'versionName="([^"]*)"', manifest)
        assert version
        assert words[-1] in (*known, f"build/packages/airbound-benchmark-{version[1]}.apk"), words
        assert 'package="airbound.benchmark"' in manifest
        assert 'android:name=".android.MainActivity"' in manifest
        return
    path, command = words[-2:]
    assert path.startswith("/data/adb/modules/airbound/"), words
    assert (ROOT / "phone-agent/android/module" / path.rpartition("/")[2]).exists(), path
    agent("airbound-phone")([command])


def sudoedit(words: list[str]) -> None:
    """A package's configuration."""
    [name] = [Path(word).name for word in words]
    assert any((ROOT / package / "debian/files" / name).exists() for package in ("controller", "phone-agent")), name


def kubectl(words: list[str]) -> None:
    """Namespace, secrets and services are those of the example."""
    built = list(yaml.safe_load_all(printed("kustomize", "build", "deploy/kubernetes/overlays/example")))
    namespace = {manifest["metadata"].get("namespace") for manifest in built} - {None}
    if words[:2] == ["-n", "airbound"]:
        assert namespace == {"airbound"}
        words = words[2:]
    if words[0] == "apply":
        assert words[1:] == ["-k", "deploy/kubernetes/overlays/example"]
    elif words[:2] == ["create", "namespace"]:
        assert set(words[2:]) == namespace
    elif words[:3] == ["create", "secret", "generic"]:
        assert f"secretName: {words[3]}" in yaml.safe_dump_all(built), words
    else:
        assert words[0] == "port-forward", words
        name = words[1].removeprefix("svc/")
        (found,) = (
            manifest for manifest in built if manifest["kind"] == "Service" and manifest["metadata"]["name"] == name
        )
        assert int(words[2]) in [port["port"] for port in found["spec"]["ports"]], words


def nothing(_: list[str]) -> None:
    """A program of others without Airbound's names."""


PROGRAMS: dict[str, Callable[[list[str]], None]] = {
    "airbound": controller,
    "airbound-lab": laboratory,
    "airbound-ap": agent("airbound-ap"),
    "airbound-phone": agent("airbound-phone"),
    "airbound-handover": agent("airbound-handover"),
    ".venv/bin/airbound-dashboards": lambda words: listed(words, ".venv/bin/airbound-dashboards", "--help"),
    "make": make,
    "docker": docker,
    "scripts/volumes.sh": script("scripts/volumes.sh"),
    "ap-firmware/image/build.sh": script("ap-firmware/image/build.sh"),
    "build/benchmark/airbound-benchmark": benchmark,
    "uci": uci,
    "opkg": package,
    "apk": package,
    "apt": package,
    "opkg-key": nothing,
    "wget": download,
    "scp": package,
    "./scripts/feeds": nothing,
    "echo": feed,
    "cp": feed,
    "service": service,
    "systemctl": service,
    "logread": service,
    "adb": adb,
    "sudoedit": sudoedit,
    "kubectl": kubectl,
    "jq": nothing,
}
