# SPDX-License-Identifier: Apache-2.0
"""docs/limits.md: its configurations of nftables and HAProxy do what it says, its keys and metrics are there. And
docs/security.md: each test that its table names is there.
"""

import asyncio
import dataclasses
import re
import subprocess
import sys
from pathlib import Path

from airbound.config import Limits
from airbound.core.reasons import Code
from airbound.metrics import reference
from airbound_testing import processes
from airbound_testing.abuse import CLIENT_HELLO_BEGINS, Abuser
from airbound_testing.agents import WAIT_S, FakePhone
from airbound_testing.live import MACS, upload
from airbound_testing.pki import Site
from airbound_testing.ports import free_port
from airbound_testing.processes import Process

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/limits.md").read_text(encoding="utf-8")
REPLICAS = (ROOT / "docs/replicas.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "docs/security.md").read_text(encoding="utf-8")
PER_ADDRESS = 100

CONNECTS = """
import select, socket, subprocess, sys
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
subprocess.run(["nft", "-f", "-"], check=True, input=sys.stdin.buffer.read())
server = socket.create_server(("127.0.0.1", 50051), backlog=500)
other = socket.create_server(("127.0.0.1", 50060), backlog=500)
def established(port):
    made = [socket.socket() for _ in range(150)]
    for of in made:
        of.setblocking(False)
        of.connect_ex(("127.0.0.1", port))
    select.select([], [], [], 1)
    open_ = [of for of in made if of.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0 and peer(of)]
    return len(open_), made
def peer(of):
    try:
        return of.getpeername()
    except OSError:
        return None
limited, kept = established(50051)
free, others = established(50060)
print(limited, free)
"""


def block(language: str) -> str:
    """The page's example in a language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return str(found)


def test_nftables_limits_the_connections_of_an_address() -> None:
    """In a network namespace of its own."""
    run = subprocess.run(
        ["unshare", "-rn", sys.executable, "-c", CONNECTS],
        input=block("nft").encode(), capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr.decode()
    assert run.stdout.split() == [str(PER_ADDRESS).encode(), b"150"]


def limited(port: int, target: str) -> str:
    """The load balancer's configuration with the lines of docs/limits.md, before one controller."""
    (text,) = re.findall(r"```haproxy\n(.*?)```", REPLICAS, re.DOTALL)
    text = text.replace("bind :50051\n", f"bind 127.0.0.1:{port}\n{block('haproxy')}")
    return text.replace("192.0.2.11:50051", target).replace("  server b 192.0.2.12:50051\n", "")


async def test_haproxy_limits_the_connections_of_an_address(tmp_path: Path) -> None:
    site, port = Site(tmp_path / "ca"), free_port()
    limits = "[limits]\nhandshake_s = 600.0\n"  # no connection ends while others are made
    async with processes.controller_with_tls(tmp_path, site.directory.path, limits) as behind:
        file = tmp_path / "haproxy.cfg"
        file.write_text(limited(port, behind.target), encoding="ascii")
        balancer = Process(["/usr/sbin/haproxy", "-db", "-f", str(file)], port, tmp_path / "haproxy.log")
        secured = site.client("terminal", "phone").secured()
        async with balancer, FakePhone(balancer.target, MACS[0], secured) as phone:
            await phone.report(upload(), monotonic_us=1)
            await phone.until(lambda: phone.reporting.interval_ms != 0)
            abuser = Abuser(balancer.target)
            await abuser.many(lambda _: abuser.plain(CLIENT_HELLO_BEGINS), 130)
            async with asyncio.timeout(WAIT_S):
                while len(abuser.open) >= PER_ADDRESS + 1:
                    abuser.ended()
                    await asyncio.sleep(0.05)
            assert PER_ADDRESS - 2 <= len(abuser.open) <= PER_ADDRESS  # the phone's is one of them
            assert phone.error is None
            abuser.close_all()


def test_every_limit_of_the_configuration_is_there_with_its_default() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| ")]
    for field in dataclasses.fields(Limits):
        (row,) = [row for row in rows if f"{field.name}`" in row and "[limits]" in row]
        assert f"{field.default:,.0f}" in row, field.name


def test_metrics_and_reasons_are_those_that_there_are() -> None:
    families = set(re.findall(r"`(airbound_\w+)", reference.table()))
    for text in (TEXT, SECURITY):
        assert set(re.findall(r"`(airbound_\w+)", text)) <= families
        reasons = re.findall(r"refusals `(\w+)`", text)
        assert reasons
        assert {reason.upper() for reason in reasons} <= set(Code.__members__)


def test_every_test_that_the_security_table_names_is_there() -> None:
    named = re.findall(r"`(\w+(?:/\w+)*\.py)::(\w+)`", SECURITY)
    assert len(named) >= 15
    for file, name in named:
        text = (ROOT / "controller/tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), name
