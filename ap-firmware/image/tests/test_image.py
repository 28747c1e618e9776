# SPDX-License-Identifier: Apache-2.0
"""build.sh with a stand-in for OpenWrt's ImageBuilder, from its download on. OpenWrt's own has not been run."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[1] / "build.sh"
STAND_IN = Path(__file__).with_name("imagebuilder")
NAME = "openwrt-imagebuilder-25.12.0-ath79-generic.Linux-x86_64"
ARCH = "mips_24kc"
INVITATION = "aToken-with.every~kind+of/character="


@pytest.fixture
def builder(tmp_path: Path) -> Path:
    """The stand-in, for a release with apk."""
    place = tmp_path / NAME
    shutil.copytree(STAND_IN, place)
    (place / ".config").write_text(f'CONFIG_TARGET_ARCH_PACKAGES="{ARCH}"\nCONFIG_USE_APK=y\n', encoding="utf-8")
    return place


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Packages, as far as names go."""
    place = tmp_path / "packages"
    (place / ARCH).mkdir(parents=True)
    (place / ARCH / "airbound-ap-0.1.0-r1.apk").write_text("apk")
    (place / ARCH / f"airbound-ap_0.1.0-r1_{ARCH}.ipk").write_text("ipk")
    (place / "all").mkdir()
    (place / "all/luci-app-airbound-0.1.0-r1.apk").write_text("apk")
    (place / "all/luci-app-airbound_0.1.0-r1_all.ipk").write_text("ipk")
    return place


def build(
    *arguments: str | Path, status: int = 0, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [BUILD, *arguments], capture_output=True, text=True, check=False, env=os.environ | (environment or {})
    )
    assert done.returncode == status, (arguments, done.stdout, done.stderr)
    return done


def applied(script: Path) -> list[str]:
    """What the script of the first boot passes to uci, in OpenWrt's shell."""
    text = f"uci() {{ echo \"$*\"; }}; . '{script}'"
    return subprocess.check_output(["/bin/busybox", "ash", "-c", text], text=True).splitlines()


def test_the_imagebuilder_gets_package_profile_and_configuration(builder: Path, packages: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(f"{INVITATION}\nsecond line\n", encoding="utf-8")
    output = tmp_path / "out"
    (builder / "packages").mkdir()
    for name in ("airbound-ap", "luci-app-airbound"):
        (builder / f"packages/{name}-0.0.9-r1.apk").write_text("an earlier one")
    done = build(
        "some-router", "--imagebuilder", builder, "--packages", packages, "--output", output,
        "--controller", "c1.example:50051", "--controller", "[2001:db8::1]:50051", "--enroll", "e.example:50053",
        "--token-file", token, "--hostname", "kitchen", "--add", "wpad-mbedtls", "--add", "-wpad-basic-mbedtls",
    )  # fmt: skip
    assert "keep it private" in done.stderr
    assert INVITATION not in done.stdout + done.stderr
    assert (output / "told").read_text() == (
        "some-router: airbound-ap luci luci-app-airbound wpad-mbedtls -wpad-basic-mbedtls\n"
    )
    assert (output / "packages").read_text() == "airbound-ap-0.1.0-r1.apk\nluci-app-airbound-0.1.0-r1.apk\n"
    script = output / "files/etc/uci-defaults/99-airbound"
    assert script.stat().st_mode & 0o777 == 0o600
    assert applied(script) == [
        "set system.@system[0].hostname=kitchen",
        "commit system",
        "set airbound.main.enabled=1",
        "-q delete airbound.main.controller",
        "add_list airbound.main.controller=c1.example:50051",
        "add_list airbound.main.controller=[2001:db8::1]:50051",
        "add_list airbound.main.enroll=e.example:50053",
        f"set airbound.main.token={INVITATION}",
        "commit airbound",
    ]
    assert subprocess.run(["/bin/busybox", "ash", "-n", script], check=False).returncode == 0


def test_without_a_controller_the_agent_stays_off(builder: Path, packages: Path, tmp_path: Path) -> None:
    (builder / ".config").write_text(f'CONFIG_TARGET_ARCH_PACKAGES="{ARCH}"\n', encoding="utf-8")
    output = tmp_path / "out"
    build("some-router", "--imagebuilder", builder, "--packages", packages, "--output", output)
    assert applied(output / "files/etc/uci-defaults/99-airbound") == []
    assert (output / "packages").read_text() == (
        f"airbound-ap_0.1.0-r1_{ARCH}.ipk\nluci-app-airbound_0.1.0-r1_all.ipk\n"
    )


def test_without_luci_there_is_only_the_agent(builder: Path, packages: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    (packages / "all/luci-app-airbound-0.1.0-r1.apk").unlink()
    arguments = ("some-router", "--imagebuilder", builder, "--packages", packages, "--output", output)
    assert "no luci-app-airbound in" in build(*arguments, status=1).stderr
    build(*arguments, "--no-luci")
    assert (output / "told").read_text().split() == ["some-router:", "airbound-ap"]
    assert (output / "packages").read_text() == "airbound-ap-0.1.0-r1.apk\n"


def download(tmp_path: Path, builder: Path, digest: str | None = None) -> dict[str, str]:
    """A download server in a directory, with the stand-in; the environment that names it."""
    place = tmp_path / "server/releases/25.12.0/targets/ath79/generic"
    place.mkdir(parents=True)
    archive = place / f"{NAME}.tar.xz"
    subprocess.run(["tar", "-cJf", archive, "-C", builder.parent, builder.name], check=True)
    digest = digest or hashlib.sha256(archive.read_bytes()).hexdigest()
    (place / "sha256sums").write_text(f"{'0' * 64} *other.tar.xz\n{digest} *{archive.name}\n", encoding="utf-8")
    return {"AIRBOUND_OPENWRT_DOWNLOADS": (tmp_path / "server").as_uri()}


def test_a_downloaded_imagebuilder_is_checked_and_unpacked(builder: Path, packages: Path, tmp_path: Path) -> None:
    environment = download(tmp_path, builder)
    output = tmp_path / "out"
    arguments = ("some-router", "--target", "ath79/generic", "--packages", packages, "--output", output)
    build(*arguments, environment=environment)
    assert (output / "told").exists()


def test_a_download_that_was_changed_is_refused(builder: Path, packages: Path, tmp_path: Path) -> None:
    environment = download(tmp_path, builder, "1" * 64)
    output = tmp_path / "out"
    arguments = ("some-router", "--target", "ath79/generic", "--packages", packages, "--output", output)
    done = build(*arguments, environment=environment, status=1)
    assert "wrong SHA-256" in done.stderr
    assert not (output / "told").exists()


def test_a_dry_run_prints_everything_but_the_token_and_does_nothing(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(INVITATION, encoding="utf-8")
    output = tmp_path / "out"
    done = build(
        "some-router", "--target", "ath79/generic", "--controller", "c1.example:50051", "--token-file", token,
        "--output", output, "--dry-run",
    )  # fmt: skip
    assert "https://downloads.openwrt.org/releases/25.12.0/targets/ath79/generic/" in done.stdout
    assert "uci add_list airbound.main.controller='c1.example:50051'" in done.stdout
    assert "uci set airbound.main.token='(the token)'" in done.stdout
    assert INVITATION not in done.stdout
    assert not output.exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "no PROFILE"),
        (("a", "b"), "two profiles"),
        (("a",), "neither --target"),
        (("a", "--target", "../x"), "neither --target"),
        (("a", "--target"), "--target has no value"),
        (("a", "--target", "x/y", "--chatty", "1"), "unknown flag --chatty"),
        (("a", "--target", "x/y", "--controller", "c.example"), "is not ADDR:PORT"),
        (("a", "--target", "x/y", "--controller", "c'; reboot; ':1"), "is not ADDR:PORT"),
        (("a", "--target", "x/y", "--hostname", "a b"), "is not a hostname"),
        (("a", "--target", "x/y", "--token-file", "/dev/null"), "--token-file without --controller"),
        (("a", "--target", "x/y", "--controller", "c:1", "--token-file", "/dev/null"), "is not a token"),
        (("a", "--imagebuilder", "/nowhere"), "there is no /nowhere"),
    ],
)
def test_wrong_arguments_are_named(arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in build(*arguments, status=1).stderr


def test_an_unknown_profile_fails_and_missing_packages_too(builder: Path, packages: Path, tmp_path: Path) -> None:
    common = ("--imagebuilder", builder, "--output", tmp_path / "out")
    build("another-router", *common, "--packages", packages, status=2)
    assert "make packages" in build("some-router", *common, "--packages", tmp_path / "none", status=1).stderr
