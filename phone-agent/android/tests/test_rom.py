# SPDX-License-Identifier: Apache-2.0
"""What builders of ROMs take: policy of SELinux, compiled with a stub of Android's, and the service of init.

Not tested, for lack of Android's sources: the same with Android's own policy and its neverallow rules.
"""

import re
import subprocess
from pathlib import Path

import pytest
from module_support import program

ANDROID = Path(__file__).parents[1]
ROM = ANDROID / "rom"
SEPOLICY = ROM / "sepolicy"
STUB = Path(__file__).parent / "sepolicy" / "stub.conf"


def compiled(tmp_path: Path, policy: str) -> subprocess.CompletedProcess[str]:
    """The policy, its macros expanded, by checkpolicy."""
    (tmp_path / "airbound.te").write_text(policy, encoding="utf-8")
    stub = STUB.read_text(encoding="utf-8").replace("@POLICY@", str(tmp_path / "airbound.te"))
    (tmp_path / "stub.m4").write_text(stub.replace("@GENFS@", str(SEPOLICY / "genfs_contexts")), encoding="utf-8")
    expanded = subprocess.run([program("m4"), tmp_path / "stub.m4"], capture_output=True, text=True, check=True)
    (tmp_path / "policy.conf").write_text(expanded.stdout, encoding="utf-8")
    return subprocess.run(
        [program("checkpolicy"), "-M", "-c", "30", "-o", tmp_path / "policy", tmp_path / "policy.conf"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_policy_compiles(tmp_path: Path) -> None:
    done = compiled(tmp_path, (SEPOLICY / "airbound.te").read_text(encoding="utf-8"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "policy").stat().st_size > 0
    assert "init_daemon_domain" not in (tmp_path / "policy.conf").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "rule",
    [
        "allow airbound system_data_file:file rw_file_perms;",
        "allow airbound proc_net:file rw_file_perms;",
        "allow airbound self:capability sys_admin;",
        "allow init airbound_data_file:file r_file_perms;",
        "allow airbound self:netlink_route_socket nlmsg_write;",
        "allow airbound self:netlink_tcpdiag_socket nlmsg_write;",
        "allow init airbound_data_file:sock_file rw_file_perms;",
        "allow init airbound:unix_stream_socket connectto;",
    ],
)
def test_rules_that_are_too_wide_do_not(tmp_path: Path, rule: str) -> None:
    done = compiled(tmp_path, (SEPOLICY / "airbound.te").read_text(encoding="utf-8") + rule + "\n")
    assert done.returncode != 0
    assert "neverallow" in done.stderr


def test_files_have_types_of_the_policy() -> None:
    policy = (SEPOLICY / "airbound.te").read_text(encoding="utf-8")
    own = set(re.findall(r"(?m)^type (\w+),", policy))
    contexts = re.findall(
        r"(?m)^(/\S+)\s+u:object_r:(\w+):s0$", (SEPOLICY / "file_contexts").read_text(encoding="utf-8")
    )
    assert {kind for _, kind in contexts} == {"airbound_exec", "airbound_data_file"} < own
    kinds = dict(contexts)
    assert kinds["/vendor/bin/airbound-phone"] == "airbound_exec"
    data = next(pattern for pattern in kinds if pattern.startswith("/data"))
    for path in (
        "/data/vendor/airbound",
        "/data/vendor/airbound/run/lock",
        "/data/vendor/airbound/credentials/key.pem",
    ):
        assert re.fullmatch(data, path)


def test_the_service_has_flags_that_the_agent_takes() -> None:
    lines = (ROM / "airbound.rc").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    service = next(line for line in lines if line.startswith("service airbound "))
    _, _, path, command, *flags = service.split()
    assert (path, command) == ("/vendor/bin/airbound-phone", "run")
    names = flags[::2]
    source = "".join(each.read_text(encoding="utf-8") for each in ANDROID.parent.parent.glob("internal/command/*.go"))
    source += (ANDROID.parent / "cmd" / "airbound-phone" / "options.go").read_text(encoding="utf-8")
    for name in names:
        assert f'"{name.removeprefix("--")}"' in source, name
    assert "--config" in names
    made = re.findall(r"(?m)^    mkdir (\S+) 0700 root root$", (ROM / "airbound.rc").read_text(encoding="utf-8"))
    state = flags[flags.index("--state-dir") + 1]
    assert state in made
