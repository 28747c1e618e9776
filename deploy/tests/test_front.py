# SPDX-License-Identifier: Apache-2.0
"""The controller with the environments of its image and of what starts it, on this machine, as root: it may write to
/dev/shm alone and has no capabilities, and HAProxy is before the ports of agents and operators.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from airbound.configuration.layers import load
from airbound_testing.agents import FakePhone
from airbound_testing.live import MACS, upload
from airbound_testing.pki import Site
from airbound_testing.ports import free_port
from airbound_testing.processes import Process
from airbound_testing.scrapes import scrape

LOCKED_DOWN = """
mount -t tmpfs -o mode=1777 shm /dev/shm
for place in / /tmp /var/tmp; do
	if mountpoint -q "$place"; then
		mount -o remount,bind,ro "$place"
	fi
done
exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"
"""


@pytest.fixture(params=["docker", "compose", "kubernetes"])
def environment(
    request: pytest.FixtureRequest, root: Path, compose: dict[str, Any], image_environment: dict[str, str]
) -> dict[str, str]:
    """Of the controller's container."""
    if request.param == "docker":
        return image_environment
    if request.param == "compose":
        service = compose["services"]["controller"]
        assert not service.get("tmpfs")  # else more may be written to than here
        return {**image_environment, **service["environment"]}
    text = (root / "deploy" / "kubernetes" / "base" / "deployment.yaml").read_text(encoding="utf-8")
    (container,) = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"]
    return {**image_environment, **{variable["name"]: variable["value"] for variable in container["env"]}}


def test_the_program_is_that_of_the_package_in_the_image(root: Path, image_environment: dict[str, str]) -> None:
    text = (root / "controller" / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")[2]
    assert "RUN debian-packages haproxy " in text
    listed = subprocess.run(["dpkg", "-L", "haproxy"], check=True, capture_output=True, text=True).stdout
    assert image_environment["AIRBOUND_TLS__FRONT"] in listed.splitlines()
    # What starts it, of a package that every Debian has.
    listed = subprocess.run(["dpkg", "-L", "util-linux"], check=True, capture_output=True, text=True).stdout
    assert "/usr/bin/setpriv" in listed.splitlines()
    assert "/usr/bin" in image_environment["PATH"].split(":")


def test_the_controller_has_a_front(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "empty.toml").touch()
    assert load(tmp_path / "empty.toml", environment).config.tls.front == "/usr/sbin/haproxy"


async def test_it_starts_where_it_may_write_to_little(environment: dict[str, str], tmp_path: Path) -> None:
    site = Site(tmp_path / "ca")
    port, metrics = free_port(), free_port()
    here = {
        "AIRBOUND_LISTEN": f"127.0.0.1:{port}",
        "AIRBOUND_OPERATORS": f'["127.0.0.1:{free_port()}"]',
        "AIRBOUND_METRICS__LISTEN": f"127.0.0.1:{metrics}",
        "AIRBOUND_TLS__DIRECTORY": str(site.directory.path),
        "AIRBOUND_TLS__ENROLLMENT": f"127.0.0.1:{free_port()}",
        # Instead of Redis.
        "AIRBOUND_STORE__URL": "",
        "AIRBOUND_STORE__USER": "",
        "AIRBOUND_STORE__PASSWORD_FILE": "",
        "AIRBOUND_STORE__FILE": "/dev/shm/store.sqlite",  # noqa: S108  # in a mount of its own
    }
    argv = ["env", "-i", *(f"{name}={value}" for name, value in {**environment, **here}.items())]
    argv += ["unshare", "--mount", "sh", "-ec", LOCKED_DOWN, "sh", sys.executable, "-m", "airbound", "controller"]
    async with Process(argv, port, tmp_path / "log") as process:
        phone = FakePhone(process.target, MACS[0], site.client("terminal", "phone").secured())
        async with phone:
            await phone.report(upload(), monotonic_us=1)
            await phone.until(lambda: phone.reporting.interval_ms != 0)
        samples = await scrape(metrics)
    assert samples.value("airbound_front_processes_total") == 2
