# SPDX-License-Identifier: Apache-2.0
"""scripts/apk.sh: twice the same, signed, with the program's classes and no others. Tools other than its own look."""

import os
import re
import secrets
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PASSWORD = secrets.token_hex(16)
BUILDS = 2


def run(*command: str | Path) -> str:
    environment = {**os.environ, "AIRBOUND_KEYSTORE_PASSWORD": PASSWORD}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def apks(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """APKs of builds from the same sources, with the same key."""
    directory = tmp_path_factory.mktemp("apk")
    key = ["-alias", "test", "-keyalg", "RSA", "-dname", "CN=A test", "-storepass", PASSWORD]
    run("keytool", "-genkeypair", "-keystore", directory / "keystore", "-storetype", "PKCS12", *key)
    return [
        Path(
            run(
                "scripts/apk.sh", "--keystore", directory / "keystore", "--output", directory / str(build)
            ).splitlines()[-1]
        )
        for build in range(BUILDS)
    ]


def test_two_builds_are_the_same(apks: list[Path]) -> None:
    first, second = apks
    assert first != second
    assert first.read_bytes() == second.read_bytes()


def test_all_three_schemes_of_its_signature_verify(apks: list[Path]) -> None:
    told = run("apksigner", "verify", "--verbose", "--min-sdk-version", "18", apks[0])
    for scheme in (
        "v1 scheme (JAR signing)",
        "v2 scheme (APK Signature Scheme v2)",
        "v3 scheme (APK Signature Scheme v3)",
    ):
        assert f"Verified using {scheme}: true" in told, told


def test_a_tool_of_others_verifies_it_and_finds_a_change(apks: list[Path], tmp_path: Path) -> None:
    assert "jar verified." in run("jarsigner", "-verify", apks[0])
    changed = tmp_path / "changed.apk"
    with zipfile.ZipFile(apks[0]) as old, zipfile.ZipFile(changed, "w") as new:
        for entry in old.infolist():
            content = bytearray(old.read(entry))
            if entry.filename == "resources.arsc":
                content[-1] ^= 1
            new.writestr(entry, bytes(content))
    done = subprocess.run(["jarsigner", "-verify", changed], capture_output=True, text=True, check=False)
    assert "jar verified." not in done.stdout, done.stdout
    done = subprocess.run(["apksigner", "verify", changed], capture_output=True, text=True, check=False)
    assert done.returncode != 0


def test_it_is_aligned(apks: list[Path]) -> None:
    run("zipalign", "-c", "4", apks[0])
    with zipfile.ZipFile(apks[0]) as apk:
        assert apk.getinfo("resources.arsc").compress_type == zipfile.ZIP_STORED


def test_its_classes_are_the_programs(apks: list[Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(apks[0]) as apk:
        apk.extract("classes.dex", tmp_path)
    classes = set(re.findall(r"Class descriptor +: 'L([^;]+);'", run("dexdump", tmp_path / "classes.dex")))
    packages = {name.rpartition("/")[0] for name in classes}
    assert {name for name in packages if not name.startswith(("airbound/benchmark", "com/google/gson"))} == set()
    assert "airbound/benchmark/android/BenchmarkService" in classes
    assert "airbound/benchmark/cpu/Sor" in classes
    # Neither tests nor what they need, nor the plain JVM's part.
    assert {name for name in classes if re.search(r"Test\b|Test\$|/jvm/|junit|robolectric|androidx", name)} == set()


def test_its_manifest_says_what_it_may_do(apks: list[Path]) -> None:
    told = run("aapt", "dump", "badging", apks[0])
    assert "package: name='airbound.benchmark' versionCode='1' versionName='0.1.0'" in told
    assert "sdkVersion:'26'" in told
    assert "targetSdkVersion:'34'" in told
    assert "application-label-ja:'Airbound ベンチマーク'" in told
    permissions = set(re.findall(r"uses-permission: name='android\.permission\.(\w+)'", told))
    assert permissions == {
        "FOREGROUND_SERVICE", "FOREGROUND_SERVICE_SPECIAL_USE", "INTERNET", "POST_NOTIFICATIONS", "WAKE_LOCK",
    }  # fmt: skip
