# SPDX-License-Identifier: Apache-2.0
"""docker-compose.yml without an engine. What it does on one is scripts/compose-test.sh."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from airbound.configuration.environment import overrides
from airbound.configuration.layers import load
from airbound.deployment.first_start import OWNERS

ONE_SHOT = {"init", "airbound", "demo"}
VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)(:-([^}]*))?\}")


def test_every_service_has_no_more_than_it_needs(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        if name in ONE_SHOT:
            continue
        assert "cap_add" not in service, name
        assert service["restart"] == "unless-stopped", name
        assert service["logging"]["options"]["max-size"] == "10m", name
        assert service["mem_limit"], name
        assert service["pids_limit"], name


def test_images_are_ours_or_of_a_fixed_version(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        image = VARIABLE.sub(lambda found: found[3] or "", service["image"])
        assert "build" in service or re.search(r":v?\d+\.\d+\.\d+", image), f"{name}: {image}"


def test_every_volume_of_a_service_has_an_owner(compose: dict[str, Any]) -> None:
    assert set(compose["volumes"]) - {"lab-cache"} == set(OWNERS)
    mounted = {volume.split(":")[0] for volume in compose["services"]["init"]["volumes"]}
    assert mounted == set(OWNERS)
    for name, owner in OWNERS.items():
        users = [
            service.get("user", "900:900")
            for service_name, service in compose["services"].items()
            for volume in service.get("volumes", ())
            if isinstance(volume, str) and volume.startswith(f"{name}:") and service_name != "init"
        ]
        assert set(users) == {f"{owner}:{owner}"}, name


def test_secrets_are_read_by_who_needs_them(compose: dict[str, Any]) -> None:
    readers = {
        name: sorted(
            service_name
            for service_name, service in compose["services"].items()
            for volume in service.get("volumes", ())
            if isinstance(volume, str) and volume.startswith(f"{name}:") and service_name != "init"
        )
        for name in ("ca", "store", "operator", "redis", "grafana")
    }
    assert readers == {
        "ca": ["controller"],
        "store": ["controller"],
        "operator": ["airbound"],
        "redis": ["redis"],
        "grafana": ["grafana"],
    }


def test_the_controller_takes_its_environment(compose: dict[str, Any], tmp_path: Path) -> None:
    environment = compose["services"]["controller"]["environment"]
    assert len(overrides(environment)) == len(environment)
    (tmp_path / "empty.toml").touch()
    config = load(tmp_path / "empty.toml", environment).config
    assert config.store.url == "redis://redis:6379"
    assert not config.tls.plain_text
    assert (config.limits.streams_per_address_max, config.parameters.identity.match_addresses) == (0, False)


def test_the_example_of_settings_has_them_all_with_their_defaults(root: Path) -> None:
    used: dict[str, str] = {}
    for found in VARIABLE.finditer((root / "docker-compose.yml").read_text(encoding="utf-8")):
        assert used.setdefault(found[1], found[3] or "") == (found[3] or ""), f"{found[1]} has two defaults"
    example = dict(
        re.findall(r"^#([A-Z0-9_]+)=(.*)$", (root / ".env.example").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert set(example) == set(used)
    different = {name for name in used if example[name] != used[name]}
    assert different == {"AIRBOUND_REVISION", "AIRBOUND_CREATED", "TRUST_DOMAIN"}  # empty means something


def test_commands_start_nothing_else(compose: dict[str, Any]) -> None:
    # `compose run` starts what a service depends on with one replica, and so would end the others.
    assert not {"depends_on", "links", "network_mode"} & set(compose["services"]["airbound"])


def test_compose_itself_reads_it_where_there_is_one(root: Path, tmp_path: Path) -> None:
    (tmp_path / "none.env").touch()
    files = ["-f", str(root / "docker-compose.yml"), "--env-file", str(tmp_path / "none.env")]
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) is None:
            continue
        if subprocess.run([*command, "version"], capture_output=True, check=False).returncode == 0:
            subprocess.run([*command, *files, "config", "-q"], check=True, cwd=root)
