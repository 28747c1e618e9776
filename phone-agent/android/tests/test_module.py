# SPDX-License-Identifier: Apache-2.0
"""The module's zip and scripts, and the agent in it, which runs in emulators of other processors."""

import hashlib
import os
import re
import stat
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from module_support import Controller, eventually, program

ROOT = Path(__file__).parents[3]
MODULE = ROOT / "phone-agent" / "android" / "module"
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for namespaces and chroot: `make test` as root")

EMULATORS = {"arm64": "qemu-aarch64-static", "arm": "qemu-arm-static", "x86_64": ""}
"""By the folder of bin/; the last is this machine's own processor."""
MACHINES = {"arm64": 183, "arm": 40, "x86_64": 62}
"""e_machine of ELF headers."""
SCRIPTS = ("action.sh", "service.sh", "uninstall.sh", "airbound", "META-INF/com/google/android/update-binary")
SOURCED = ("customize.sh", "common.sh")
FILES = {
    *SCRIPTS, *SOURCED, "module.prop", "airbound.conf", "LICENSE", "META-INF/com/google/android/updater-script",
    *(f"bin/{name}/airbound-phone" for name in EMULATORS),
}  # fmt: skip
ZIP_BYTES_MAX = 16 << 20


def run(*command: str | Path, code: int = 0, **options: str) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, cwd=ROOT,
                          env={**os.environ, **options}, timeout=600)  # fmt: skip
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(run("scripts/module.sh", "--output", tmp_path_factory.mktemp("module")).splitlines()[-1])


@pytest.fixture(scope="module")
def unpacked(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(package) as archive:
        archive.extractall(directory)
        for entry in archive.infolist():
            (directory / entry.filename).chmod(entry.external_attr >> 16)
    return directory


def test_the_zip_has_the_same_bytes_each_time(package: Path, tmp_path: Path) -> None:
    again = Path(run("scripts/module.sh", "--output", tmp_path, GOFLAGS="-trimpath=false", TZ="Asia/Tokyo").split()[-1])
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(package.read_bytes()).digest()
    assert package.stat().st_size < ZIP_BYTES_MAX


def test_what_is_in_the_zip(package: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        assert archive.testzip() is None
        entries = {entry.filename: entry for entry in archive.infolist()}
        assert set(entries) == FILES
        assert len({entry.date_time for entry in entries.values()}) == 1
        for name, entry in entries.items():
            text = archive.read(name)
            executable = name in SCRIPTS or name.startswith("bin/")
            assert stat.S_IMODE(entry.external_attr >> 16) == (0o755 if executable else 0o644), name
            if not name.startswith("bin/"):
                assert b"\r" not in text, name
                assert text.endswith(b"\n"), name
        assert archive.read("META-INF/com/google/android/updater-script") == b"#MAGISK\n"


def test_module_prop(unpacked: Path) -> None:
    lines = (unpacked / "module.prop").read_text(encoding="utf-8").splitlines()
    properties = dict(line.split("=", 1) for line in lines)
    assert list(properties) == ["id", "name", "version", "versionCode", "author", "description"]
    assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9._-]+", properties["id"])
    assert properties["id"] == "airbound"
    assert re.fullmatch(r"\d+\.\d+\.\d+-\w+", properties["version"])
    assert int(properties["versionCode"]) > 0


def test_the_example_has_keys_that_the_agent_takes(unpacked: Path, tmp_path: Path) -> None:
    """Without the # of the keys, and with a token."""
    text = (unpacked / "airbound.conf").read_text(encoding="utf-8")
    keys = re.sub(r"(?m)^#([a-z-]+ =)", r"\1", text).replace("token =", f"token = {'x' * 66}")
    assert keys.count("\n#") == text.count("\n#") - 8
    file = tmp_path / "airbound.conf"
    file.write_text(keys, encoding="utf-8")
    agent = unpacked / "bin" / "x86_64" / "airbound-phone"
    said = run(agent, "status", "--config", file, "--state-dir", tmp_path, code=3)
    assert "not running" in said


@pytest.mark.parametrize("name", [*SCRIPTS, *SOURCED])
@pytest.mark.parametrize("shell", [("mksh", "-n"), ("busybox", "ash", "-n")], ids=["mksh", "ash"])
def test_scripts_are_in_the_grammar_of_the_phones_shells(name: str, shell: tuple[str, ...]) -> None:
    run(program(shell[0]), *shell[1:], MODULE / name)


@pytest.mark.parametrize("name", [*SCRIPTS, *SOURCED])
def test_shellcheck(name: str) -> None:
    run(program("shellcheck"), "-x", "-a", "-P", "SCRIPTDIR", MODULE / name)


@pytest.mark.parametrize("name", EMULATORS)
class TestAgent:
    @pytest.fixture
    def agent(self, name: str, unpacked: Path) -> list[str | Path]:
        emulator = EMULATORS[name]
        return [*([program(emulator)] if emulator else []), unpacked / "bin" / name / "airbound-phone"]

    def test_it_is_static_and_of_its_processor(self, name: str, unpacked: Path) -> None:
        header = (unpacked / "bin" / name / "airbound-phone").read_bytes()
        assert header[:4] == b"\x7fELF"
        assert int.from_bytes(header[18:20], "little") == MACHINES[name]
        assert b"ld-linux" not in header

    def test_version(self, agent: list[str | Path], unpacked: Path) -> None:
        version = re.findall(r"(?m)^version=(.*)$", (unpacked / "module.prop").read_text(encoding="utf-8"))[0]
        assert run(*agent, "--version") == f"airbound-phone {version}\n"

    def test_its_places_are_androids(self, agent: list[str | Path]) -> None:
        said = run(*agent, "run", "--help")
        assert '(default "/data/adb/airbound/airbound.conf")' in said
        assert '(default "/data/adb/airbound/run")' in said
        assert '(default "/data/adb/airbound/credentials")' in said

    def test_it_enrols_and_reports(
        self, agent: list[str | Path], name: str, controller: Controller, phone: Path
    ) -> None:
        """As on a phone, with a kernel of regular files; before and after, doctor says that nothing has failed."""
        token = controller.ask("enroll", "terminal", f"phone-{name}", "--json")
        secret = re.findall(r'"token": "(\S+)"', token)[0]
        config = phone / "airbound.conf"
        config.write_text(
            f"controller = {controller.agents}\nenroll = {controller.enrollment}\ntoken = {secret}\n"
            f"proc-root = {phone}/kernel\nstate-dir = {phone}/run\ncredentials-dir = {phone}/credentials\n"
            "mac = 02:00:00:00:01:0a\nno-tracing = true\nheartbeat = 1s\n",
            encoding="utf-8",
        )
        before = run(*agent, "doctor", "--config", config)
        assert f"enrolment at {controller.enrollment}: TCP in" in before
        words = [str(word) for word in agent]
        with subprocess.Popen([*words, "run", "--config", config], stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            log = ""
            for line in process.stderr:
                log += line
                if "connected to the controller" in line:
                    break
            assert f"terminal/phone-{name}" in log
            assert secret not in log
            eventually(lambda: f"phone-{name}" in controller.ask("terminals"))
            after = run(*agent, "doctor", "--config", config)
            assert re.search(rf"(?m)^ok +certificate +spiffe://\S+/terminal/phone-{name}, until", after)
            assert re.search(r"(?m)^ok +agent +running and connected$", after)
            process.terminate()
            assert process.wait(60) == 0


@NEEDS_ROOT
@pytest.mark.parametrize(("shell", "manager"), [("mksh", "magisk"), ("ash", "kernelsu")])
def test_a_new_owner(shell: str, manager: str) -> None:
    said = run("phone-agent/android/tests/new-owner.sh", shell, manager)
    assert said.endswith(f"PASS: a new owner with {manager} and {shell}\n")


class Phone:
    """A simulated phone without network."""

    def __init__(self, path: Path, shell: str, arch: str = "x64") -> None:
        self.path = path
        self._call("make", shell, arch)

    def _call(self, command: str, *arguments: str | Path, code: int = 0) -> str:
        call = ["phone-agent/android/tests/phone.sh", command, self.path, *arguments]
        if command == "boot":
            call = ["unshare", "--net", *call]
        options = {
            "BOOT_ENVIRONMENT": "AIRBOUND_WIFI_WAIT=0 AIRBOUND_WAIT_MIN=1 AIRBOUND_WAIT_MAX=1 AIRBOUND_LOG_LINES=6"
        }
        return run(*call, code=code, **options)

    def boot(self) -> None:
        self._call("boot")

    def off(self) -> None:
        self._call("off")

    def run(self, command: str, code: int = 0) -> str:
        return self._call("run", command, code=code)

    def install(self, package: Path, code: int = 0) -> str:
        return self._call("install", package, "magisk", code=code)

    def file(self, path: str) -> Path:
        return self.path / path.lstrip("/")


@pytest.fixture(params=["mksh", "ash"])
def simulated(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Phone]:
    made = Phone(tmp_path / "phone", request.param)
    yield made
    made.off()


@NEEDS_ROOT
def test_a_phone_of_another_processor_is_refused(simulated: Phone, package: Path) -> None:
    simulated.boot()
    simulated.file("/arch").write_text("x86\n", encoding="utf-8")
    assert "! There is no agent for the architecture x86" in simulated.install(package, code=1)
    simulated.file("/arch").write_text("arm64\n", encoding="utf-8")
    assert "! The agent does not start on this phone" in simulated.install(package, code=1)
    assert not simulated.file("/data/adb/airbound").exists()
    assert not simulated.file("/data/adb/modules_update/airbound").exists()


@NEEDS_ROOT
def test_an_old_magisk_and_none(simulated: Phone, package: Path) -> None:
    simulated.boot()
    functions = simulated.file("/data/adb/magisk/util_functions.sh")
    functions.write_text("MAGISK_VER_CODE=20300\n", encoding="utf-8")
    assert "This Magisk is too old: 20.4 or later is needed." in simulated.install(package, code=1)
    functions.unlink()
    assert "Install Magisk 20.4 or later first" in simulated.install(package, code=1)


@NEEDS_ROOT
def test_an_agent_that_cannot_start(simulated: Phone, package: Path) -> None:
    """It is tried again for ever, what it says is in a log of bounded size, and `airbound stop` ends all."""
    simulated.boot()
    simulated.install(package)
    simulated.off()
    stale = simulated.file("/data/adb/airbound/run")
    stale.mkdir()
    (stale / "loop.pid").write_text("1\n", encoding="utf-8")  # of an earlier boot; now another process has the number
    (stale / "state.json").write_text("{", encoding="utf-8")
    simulated.boot()
    log = simulated.file("/data/adb/airbound/log")
    eventually(lambda: log.with_name("log.1").exists())
    assert "airbound-phone run: --controller is missing\n" in log.with_name("log.1").read_text(encoding="utf-8")
    assert "airbound: the agent ended with code 2\n" in log.with_name("log.1").read_text(encoding="utf-8")
    assert len(log.with_name("log.1").read_text(encoding="utf-8").splitlines()) == 6
    assert not (stale / "state.json").exists()
    assert stat.S_IMODE(log.with_name("log.1").stat().st_mode) == 0o600  # `log` is missing until its first line
    assert "it runs already" in simulated.run("sh /data/adb/modules/airbound/service.sh")
    assert "airbound COMMAND, as root" in simulated.run("/data/adb/modules/airbound/airbound")
    simulated.run("/data/adb/modules/airbound/airbound stop")
    eventually(lambda: "airbound" not in simulated.run("ps").replace("sh -c ps", ""))
    simulated.run("/data/adb/modules/airbound/airbound start")
    eventually(lambda: "service.sh loop" in simulated.run("ps"))
    simulated.run("touch /data/adb/modules/airbound/disable")
    eventually(lambda: "airbound" not in simulated.run("ps"))
    simulated.run("sh /data/adb/modules/airbound/uninstall.sh")
    assert not simulated.file("/data/adb/airbound").exists()


@NEEDS_ROOT
def test_a_second_start_and_a_stop_at_once(simulated: Phone, package: Path) -> None:
    """What the first start began may not have run yet."""
    simulated.boot()
    simulated.install(package)
    setsid = simulated.file("/system/bin/setsid")
    setsid.unlink()
    setsid.write_text('#!/system/bin/sh\nsleep 2\nexec /system/bin/busybox setsid "$@"\n', encoding="utf-8")
    setsid.chmod(0o755)
    airbound = "/data/adb/modules_update/airbound/airbound"
    assert simulated.run(f"{airbound} start; {airbound} start") == "airbound: it runs already\n"
    simulated.run(f"{airbound} stop")
    assert "airbound" not in simulated.run("ps").replace("sh -c ps", "")


@NEEDS_ROOT
def test_a_configuration_that_the_new_version_does_not_take(simulated: Phone, package: Path) -> None:
    simulated.boot()
    simulated.install(package)
    config = simulated.file("/data/adb/airbound/airbound.conf")
    config.write_text("colour = blue\n", encoding="utf-8")
    said = simulated.install(package)
    assert '! airbound-phone status: /data/adb/airbound/airbound.conf: line 1: no such key "colour"' in said
    assert config.read_text(encoding="utf-8") == "colour = blue\n"
