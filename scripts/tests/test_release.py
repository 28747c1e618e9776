# SPDX-License-Identifier: Apache-2.0
"""A release of packages that were made before: what is in it, by which keys, and that it is the same twice.

The packages of OpenWrt are real ones. What a release only copies (.deb, module, sources) is made in other tests, and is
a file with its name here.
"""

import base64
import gzip
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

REPOSITORY = Path(__file__).parents[2]
ARCHITECTURES = [
    line.split()[0]
    for line in (REPOSITORY / "ap-firmware/openwrt/architectures.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
COPIED = [
    "airbound-0.1.0.tar.gz",
    "airbound-0.1.0-py3-none-any.whl",
    "airbound-phone-0.1.0.zip",
    *(
        f"airbound-{name}_0.1.0-1_{arch}.deb"
        for name in ("controller", "phone", "handover")
        for arch in ("amd64", "arm64")
    ),
]
FEED = {"Packages", "Packages.gz", "Packages.sig", "packages.adb"}


def run(*flags: str | Path, where: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    command = [REPOSITORY / "scripts/release.sh", *flags]
    return subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=where)


def release(*flags: str | Path) -> None:
    done = run(*flags)
    assert done.returncode == 0, done.stdout + done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make packages controller-package wheel module` leaves."""
    packages = os.environ.get("AIRBOUND_PACKAGES")
    if packages is None:
        subprocess.run([REPOSITORY / "scripts/packages.sh"], check=True)
        packages = str(REPOSITORY / "build/packages")
    folder = tmp_path_factory.mktemp("made")
    for name in (*ARCHITECTURES, "all"):
        shutil.copytree(Path(packages) / name, folder / name)
    for name in COPIED:
        (folder / name).write_bytes(name.encode())
    return folder


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys") / "release"
    release("--make-key", folder)
    return folder


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory, made: Path, keys: Path) -> Path:
    folder = tmp_path_factory.mktemp("release")
    release("--key", keys, "--made", made, "--output", folder)
    return folder


def test_all_is_in_it_by_its_checksums(released: Path) -> None:
    found = contents(released)
    listed = dict(reversed(line.split("  ", 1)) for line in found["SHA256SUMS"].decode().splitlines())
    assert set(listed) == set(found) - {"SHA256SUMS", "SHA256SUMS.sig"}
    assert {name: hashlib.sha256(found[name]).hexdigest() for name in listed} == listed
    assert set(COPIED) <= set(found)
    for architecture in ARCHITECTURES:
        in_feed = {name.rpartition("/")[2] for name in found if name.startswith(f"openwrt/{architecture}/")}
        assert in_feed - FEED == {
            f"airbound-ap_0.1.0-r1_{architecture}.ipk", "airbound-ap-0.1.0-r1.apk",
            "luci-app-airbound_0.1.0-r1_all.ipk", "luci-app-airbound-0.1.0-r1.apk",
        }  # fmt: skip
        assert in_feed >= FEED


def verify(found: dict[str, bytes], name: str, signature: str) -> None:
    """As `usign -V -P openwrt/keys` does.

    Raises:
        InvalidSignature: it is none of this file.
    """
    decoded = base64.b64decode(found[signature].splitlines()[1])
    public = base64.b64decode(found[f"openwrt/keys/{decoded[2:10].hex()}"].splitlines()[1])
    assert (decoded[:2], public[:10]) == (b"Ed", decoded[:10])
    Ed25519PublicKey.from_public_bytes(public[10:]).verify(decoded[10:], found[name])


def test_one_key_signs_the_feed_and_the_checksums(released: Path) -> None:
    found = contents(released)
    signed = {"SHA256SUMS": "SHA256SUMS.sig"}
    signed |= {f"openwrt/{arch}/Packages": f"openwrt/{arch}/Packages.sig" for arch in ARCHITECTURES}
    for name, signature in signed.items():
        verify(found, name, signature)
        with pytest.raises(InvalidSignature):
            verify({**found, name: found[name] + b"\n"}, name, signature)
    load_pem_public_key(found["openwrt/keys/airbound.pem"])


def test_opkg_finds_each_package_by_its_hash(released: Path) -> None:
    for architecture in ARCHITECTURES:
        folder = released / "openwrt" / architecture
        text = (folder / "Packages").read_text(encoding="utf-8")
        assert gzip.decompress((folder / "Packages.gz").read_bytes()).decode() == text
        paragraphs = [dict(line.split(": ", 1) for line in part.splitlines()) for part in text.strip().split("\n\n")]
        assert [(part["Package"], part["Architecture"]) for part in paragraphs] == [
            ("airbound-ap", architecture), ("luci-app-airbound", "all"),
        ]  # fmt: skip
        for part in paragraphs:
            content = (folder / part["Filename"]).read_bytes()
            assert (int(part["Size"]), part["SHA256sum"]) == (len(content), hashlib.sha256(content).hexdigest())


def test_the_parts_are_listed_as_the_schema_wants_it(released: Path) -> None:
    text = (released / "airbound.cdx.json").read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    components = json.loads(text)["components"]
    programs = {part["name"] for part in components if part["type"] == "application"}
    assert programs == {"airbound-controller", "airbound-ap", "airbound-phone", "airbound-handover"}
    urls = {part.get("purl", "").partition("@")[0] for part in components}
    assert {"pkg:pypi/grpcio", "pkg:pypi/segno", "pkg:golang/std", "pkg:golang/google.golang.org/grpc"} <= urls
    listed = {part["name"] for part in components if part["type"] == "file"}
    assert listed == set(contents(released)) - {"airbound.cdx.json", "SHA256SUMS", "SHA256SUMS.sig"}


def test_it_is_the_same_twice_and_replaces_the_one_before(released: Path, made: Path, keys: Path) -> None:
    before = contents(released)
    (released / "of-an-older-release.deb").write_bytes(b"")
    release("--key", keys, "--made", made, "--output", released)
    assert contents(released) == before


def test_nothing_is_overwritten_or_left_out(tmp_path: Path, made: Path, keys: Path) -> None:
    again = run("--make-key", keys)
    assert (again.returncode, "file exists" in again.stderr) == (1, True)
    (tmp_path / "mine").write_bytes(b"")
    other = run("--key", keys, "--made", made, "--output", tmp_path)
    assert (other.returncode, "is no release that could be replaced" in other.stderr) == (1, True)
    less = tmp_path / "less"
    shutil.copytree(made, less)
    (less / COPIED[-1]).unlink()
    missing = run("--key", keys, "--made", less, "--output", tmp_path / "out")
    assert (missing.returncode, "airbound-handover_0.1.0-*_arm64.deb" in missing.stderr) == (1, True)
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "less"}
    for flags in ((), ("--key", tmp_path / "nowhere"), ("--key", "")):
        none = run(*flags)
        assert (none.returncode, "make release-key RELEASE_KEY=DIR" in none.stderr) == (1, True), none.stderr


def test_a_run_that_fails_leaves_the_release_of_before(released: Path, tmp_path: Path, made: Path, keys: Path) -> None:
    output = tmp_path / "release"
    shutil.copytree(released, output)
    before = contents(output)
    less = tmp_path / "less"
    shutil.copytree(made, less)
    shutil.rmtree(less / ARCHITECTURES[-1])  # Missed after most has been made.
    failed = run("--key", keys, "--made", less, "--output", output)
    assert (failed.returncode, f"no packages for {ARCHITECTURES[-1]}" in failed.stderr) == (1, True), failed.stderr
    assert contents(output) == before
    assert {path.name for path in tmp_path.iterdir()} == {"release", "less"}


def test_relative_directories_are_the_callers(released: Path, tmp_path: Path, made: Path, keys: Path) -> None:
    flags = ("--key", os.path.relpath(keys, tmp_path), "--made", os.path.relpath(made, tmp_path))
    done = run(*flags, "--output", "public/release", where=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, [f"{tmp_path}/public/release"]), done.stderr
    assert contents(tmp_path / "public/release") == contents(released)
    assert [path.name for path in (tmp_path / "public").iterdir()] == ["release"]
