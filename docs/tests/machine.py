# SPDX-License-Identifier: Apache-2.0
"""The machine of somebody who reads the documents: their addresses and names, default ports, nothing configured yet.

Namespaces of network, mounts, processes and control groups. What is written to /etc, /var/lib and /run is gone
with them; the rest of the machine is as it is. Needs root.
"""

import contextlib
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[2]
NAMES = "controller.example"
ADDRESSES = ("192.0.2.1", "192.0.2.7", "192.0.2.9")
"""Of the controller, of a phone with an agent, of a station without."""
HOME = "/var/lib/reader"
"""Of that somebody, who may do everything."""
WAIT_S = 600.0
"""Where a dozen programs share a processor, a command takes a minute and more."""

_HOLD = """
mkdir "$2"
echo $$ >"$2/cgroup.procs"
exec unshare --net --mount --pid --cgroup --fork --kill-child --mount-proc bash -euc "$3" machine "$1" "$4"
"""
_SETUP = f"""
mount --make-rprivate /
mount -t tmpfs none "$1"
for place in $2; do
	mkdir -p "$1/upper/$place" "$1/scratch/$place"
	mount -t overlay -o "lowerdir=/$place,upperdir=$1/upper/$place,workdir=$1/scratch/$place" none "/$place"
done
mount -t tmpfs none /run
umount --recursive --lazy /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
rm -rf /etc/airbound /var/lib/airbound /var/lib/airbound-phone
mkdir -m 700 /etc/airbound {HOME} {HOME}/documents
ip link set lo up
for address in {" ".join(ADDRESSES)}; do ip address add "$address/32" dev lo; done
# Who connects to the controller comes from the phone's address.
ip route replace local 192.0.2.1 dev lo table local src 192.0.2.7
ip link add wlan0 address 02:00:00:00:01:00 type veth peer name air0
ip link set wlan0 up
echo '192.0.2.1 {NAMES}' >>/etc/hosts
echo ready
exec sleep infinity
"""


class Started:
    """A command line that does not end by itself."""

    def __init__(self, text: str, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.text = text
        self._process = process
        self._terminal = terminal
        self._printed = b""

    def printed(self) -> str:
        """What it printed so far."""
        with contextlib.suppress(OSError):  # the other end of the terminal is closed
            while select.select([self._terminal], [], [], 0)[0] and (more := os.read(self._terminal, 65536)):
                self._printed += more
        return self._printed.decode(errors="replace")

    def has_ended(self) -> bool:
        """Whether it has."""
        return self._process.poll() is not None

    def stop(self, number: signal.Signals) -> int:
        """End it by a signal; its exit status."""
        # nsenter is the parent of the command, which is in the namespace of processes.
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        for child in children.read_text(encoding="ascii").split():
            os.kill(int(child), number)
        deadline_s = time.monotonic() + WAIT_S
        while not self.has_ended() and time.monotonic() < deadline_s:
            self.printed()  # so that it never waits for a reader
            time.sleep(0.02)
        return self._process.wait(0)

    def close(self) -> None:
        """End it, whatever state it is in."""
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)


class Machine:
    """A context manager."""

    copied = "etc var/lib"
    """Folders that are not the machine's own: what is written there is gone at the end."""
    path = f"{ROOT}/.venv/bin:{ROOT}/build:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    def __init__(self, directory: Path) -> None:
        self._upper = directory / "machine"
        self._cgroup = cgroup2() / f"airbound-documents-{os.getpid()}"
        self._pid = ""
        self._holder: subprocess.Popen[str] | None = None
        self._started: list[Started] = []

    def __enter__(self) -> Self:
        self._upper.mkdir()
        # A phone's agent attaches its programs to all of its machine, which is not to be all of this one.
        hold = ["bash", "-euc", _HOLD, "hold", str(self._upper), str(self._cgroup), _SETUP, self.copied]
        self._holder = subprocess.Popen(hold, stdout=subprocess.PIPE, text=True)
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != "ready\n":
            self.__exit__(None, None, None)
            raise RuntimeError("no namespaces: are you root?")
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children")
        self._pid = children.read_text(encoding="ascii").split()[0]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._holder is not None
        assert self._holder.stdout is not None
        for started in self._started:
            started.close()
        self._holder.kill()
        self._holder.wait()
        self._holder.stdout.close()
        deadline_s = time.monotonic() + WAIT_S
        while self._cgroup.is_dir():
            try:
                self._cgroup.rmdir()
            except OSError:  # its processes are ending
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.05)

    def run(self, text: str, seconds: float = WAIT_S) -> subprocess.CompletedProcess[str]:
        """Run a command line to its end."""
        return subprocess.run(
            self._inside(text), check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=seconds, env=self._environment,
        )  # fmt: skip

    def start(self, text: str) -> Started:
        """Start a command line that does not end by itself, on a terminal of its own."""
        ours, its = pty.openpty()
        process = subprocess.Popen(
            self._inside(f"stty rows 40 cols 120; exec env {text}"),
            stdin=its,
            stdout=its,
            stderr=its,
            env=self._environment,
        )
        os.close(its)
        self._started.append(Started(text, process, ours))
        return self._started[-1]

    def watch(self, text: str) -> tuple[str, int]:
        """What a command line that does not end by itself prints first, and its exit status after Ctrl-C."""
        started = self.start(text)
        deadline_s = time.monotonic() + WAIT_S
        while not started.printed().strip() and not started.has_ended() and time.monotonic() < deadline_s:
            time.sleep(0.05)
        status = started.stop(signal.SIGINT)
        return started.printed(), status

    def until(self, text: str, started: Started, seconds: float = WAIT_S) -> None:
        """Wait until a command succeeds, which shows that what was started is ready.

        Raises:
            TimeoutError: it does not, with what both printed.
        """
        deadline_s = time.monotonic() + seconds
        while (done := self.run(text)).returncode:
            if started.has_ended() or time.monotonic() > deadline_s:
                raise TimeoutError(f"{text}: {done.stdout}{done.stderr}\n{started.text}: {started.printed()}")
            time.sleep(0.2)

    @property
    def _environment(self) -> Mapping[str, str]:
        return {
            "CHECKOUT": str(ROOT),
            "HOME": HOME,
            "LC_ALL": "C.UTF-8",
            "PATH": self.path,
            "TERM": "xterm-256color",
        }

    def _inside(self, text: str) -> list[str]:
        # A shell without job control starts what it puts into the background with both ignored, which is inherited:
        # Ctrl-C would end nothing.
        enter = ["env", "--default-signal=INT,QUIT"]
        enter += ["nsenter", "--target", self._pid, "--net", "--mount", "--pid", "--cgroup"]
        return [*enter, "bash", "-c", f"cd {HOME}/documents\n{text}"]


class Checkout:
    """This machine, for what takes long and what it needs: caches, kernels, a Docker engine."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._directory = directory
        self._environment = {
            **os.environ, "CHECKOUT": str(ROOT), "PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}", **environment,
        }  # fmt: skip

    def run(self, text: str) -> subprocess.CompletedProcess[str]:
        """Run a command line to its end."""
        return subprocess.run(
            ["bash", "-c", text], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL,
            cwd=self._directory, env=self._environment,
        )  # fmt: skip


def cgroup2() -> Path:
    """Where this machine has its control groups."""
    command = ["findmnt", "--noheadings", "--output", "TARGET", "--types", "cgroup2"]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[0])
