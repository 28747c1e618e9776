# SPDX-License-Identifier: Apache-2.0
"""docker-compose.yml without an engine. What it does on one is scripts/compose-test.sh."""

import argparse
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from airbound.configuration.environment import overrides
from airbound.configuration.layers import load
from airbound.deployment.first_start import OWNERS
from airbound.operator.cli import parser
from airbound_lab.live import cli
from airbound_lab.live.guest_process import MEMORY_MIB
from airbound_lab.live.settings import Settings
from airbound_lab.settings import option

ONE_SHOT = {"init", "airbound", "lab", "live-tokens"}
SETTING = re.compile(r"^\w+=.*$", re.MULTILINE)
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
    assert set(compose["volumes"]) - {"lab-cache", "live", "live-tokens"} == set(OWNERS)
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
        for name in ("ca", "store", "operator", "openflow", "redis", "grafana")
    }
    assert readers == {
        "ca": ["controller"],
        "store": ["controller"],
        "operator": ["airbound", "live-tokens"],
        "openflow": ["openflow"],
        "redis": ["redis"],
        "grafana": ["grafana"],
    }


def test_the_live_cell_is_a_device_like_others(compose: dict[str, Any], root: Path) -> None:
    live, tokens = compose["services"]["live"], compose["services"]["live-tokens"]
    assert (live["profiles"], tokens["profiles"]) == (["demo"], ["demo"])
    assert live["networks"] == ["cell"]
    assert compose["networks"]["cell"] == {"internal": True}
    assert "ports" not in live
    others = [name for name, service in compose["services"].items() if "cell" in service.get("networks", ())]
    assert others == ["load-balancer", "openflow", "live"]
    # Keys in a volume of its own, tokens to read: nothing of the authority's or an operator's.
    assert live["volumes"] == ["live:/var/lib/airbound/live", "live-tokens:/run/airbound/tokens:ro,nocopy"]
    assert "operator:/var/lib/airbound/operator:ro,nocopy" in tokens["volumes"]
    dockerfile = (root / "lab" / "live.Dockerfile").read_text(encoding="utf-8")
    user = re.findall(r"^USER (\d+):(\d+)$", dockerfile, re.MULTILINE)
    assert user == [("902", "902")]
    assert "install -d -o 902 -g 902 -m 700 /var/lib/airbound/live" in dockerfile
    options = dict(option.split("=") for option in compose["volumes"]["live-tokens"]["driver_opts"]["o"].split(","))
    assert options == {"size": "1m", "mode": "2750", "uid": "900", "gid": "902"}


def test_switches_connect_to_a_process_of_their_own(compose: dict[str, Any], root: Path) -> None:
    service = compose["services"]["openflow"]
    assert service["profiles"] == ["openflow"]
    assert service["networks"] == ["edge", "cell"]  # not those of Redis, of the controllers, of Prometheus
    assert service["volumes"] == ["openflow:/var/lib/airbound/openflow:ro,nocopy"]
    # What it is told is what the command takes, and what is not plain text.
    arguments = parser().parse_args(service["command"])
    assert (arguments.listen, arguments.controller) == ("0.0.0.0:6653", "load-balancer:50051")
    assert (str(arguments.tls_dir), arguments.plain_text) == ("/var/lib/airbound/openflow", False)
    assert f":{6653:04X} " in service["healthcheck"]["test"][3]
    # Its image is the controller's with os-ken, by the same lock.
    assert service["build"]["args"]["REQUIREMENTS"] == "openflow-requirements.txt"
    assert "os-ken==" in (root / "controller" / "openflow-requirements.txt").read_text(encoding="utf-8")
    assert "os-ken==" not in (root / "controller" / "requirements.txt").read_text(encoding="utf-8")


def test_there_is_a_token_for_each_device_of_the_live_cell(compose: dict[str, Any]) -> None:
    devices = Settings("load-balancer:50051").devices()
    wanted = [f"{'access-point' if name.endswith('-ap') else 'terminal'}/{name}" for name in devices]
    assert compose["services"]["live-tokens"]["command"] == wanted
    assert len(wanted) == 5
    assert not {"--name", "--terminals"} & set(compose["services"]["live"]["command"])


def test_the_live_cell_has_the_radio_of_today_and_the_kernel_for_it(compose: dict[str, Any], root: Path) -> None:
    lab = argparse.ArgumentParser()
    cli.add(lab.add_subparsers())
    settings = Settings(**option.given(lab.parse_args(["live", *compose["services"]["live"]["command"]]), Settings))
    assert (settings.phy, settings.ap, settings.no_window_clamp) == ("11ac-80", "openwrt", False)
    assert settings.distances_m is not None
    assert len(settings.distances_m) == settings.phones
    assert max(settings.distances_m) > 2 * min(settings.distances_m)
    dockerfile = (root / "lab" / "live.Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"linux-source-([\d.]+)", dockerfile) == [settings.line]


def test_the_guest_s_memory_has_room(compose: dict[str, Any]) -> None:
    [memory] = [mount for mount in compose["services"]["live"]["tmpfs"] if ":exec," in mount]
    [size_mib] = re.findall(r"size=(\d+)m", memory)
    assert memory.startswith("/dev/shm:")  # noqa: S108  # in a container
    assert MEMORY_MIB < int(size_mib) < 1024


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


def test_who_waits_for_health_waits_for_a_health_check(compose: dict[str, Any], root: Path) -> None:
    services = compose["services"]
    awaited = {
        name
        for service in services.values()
        if isinstance(service.get("depends_on"), dict)
        for name, on in service["depends_on"].items()
        if on["condition"] == "service_healthy"
    }
    assert awaited == {"redis", "load-balancer"}
    for name in awaited - {name for name in awaited if "healthcheck" in services[name]}:
        dockerfile = (root / services[name]["build"]["dockerfile"]).read_text(encoding="utf-8")
        assert re.search("^HEALTHCHECK ", dockerfile, re.MULTILINE), name


def test_files_of_the_checkout_that_containers_see_are_there(compose: dict[str, Any], root: Path) -> None:
    sources = {
        volume.split(":")[0]
        for service in compose["services"].values()
        for volume in service.get("volumes", ())
        if isinstance(volume, str) and volume.startswith("./")
    }
    assert len(sources) > 4
    tracked = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.split()
    for source in sources - {"./out"}:  # made by the first run
        assert any(f"./{name}".startswith(f"{source}/") or f"./{name}" == source for name in tracked), source


KINDS = {
    "1": ("docker-compose", "-f", "docker-compose.yml", "config"),  # Debian 12's
    "2": ("compose-config", "docker-compose.yml"),  # Compose 2's library
}
PUBLISHED = {
    "grafana": ["127.0.0.1:3000"],
    "load-balancer": ["0.0.0.0:50051", "0.0.0.0:50053", "127.0.0.1:50052"],
}


def config(kind: str, root: Path, *profiles: str) -> dict[str, Any]:
    """The services without a profile or with one of these, by one kind of Compose and with the example's settings.
    Either prints those of other profiles as well.
    """
    environment = {
        **dict(line.split("=", 1) for line in SETTING.findall((root / ".env.example").read_text(encoding="utf-8"))),
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "COMPOSE_PROJECT_NAME": "airbound",
        "COMPOSE_PROFILES": ",".join(profiles),
    }
    printed = subprocess.run(KINDS[kind], cwd=root, env=environment, check=True, capture_output=True, text=True)
    assert not printed.stderr
    services: dict[str, Any] = yaml.safe_load(printed.stdout)["services"]
    return {
        name: service
        for name, service in services.items()
        if not service.get("profiles") or set(service["profiles"]) & set(profiles)
    }


def port(entry: str | dict[str, Any]) -> str:
    """ADDRESS:PORT of the host, as either Compose writes it."""
    if isinstance(entry, dict):
        return f"{entry['host_ip']}:{entry['published']}"
    return re.sub(r":[0-9]+(/tcp)?$", "", entry)


def published(services: dict[str, Any]) -> dict[str, list[str]]:
    return {name: sorted(map(port, service["ports"])) for name, service in services.items() if service.get("ports")}


@pytest.mark.parametrize("kind", KINDS)
def test_both_kinds_of_compose_publish_the_same_ports(root: Path, kind: str) -> None:
    assert published(config(kind, root)) == PUBLISHED
    assert published(config(kind, root, "demo", "lab", "commands")) == PUBLISHED
    assert published(config(kind, root, "openflow")) == {**PUBLISHED, "openflow": ["0.0.0.0:6653"]}


def test_both_kinds_of_compose_read_the_same_services(root: Path, compose: dict[str, Any]) -> None:
    profiles = ("commands", "demo", "lab", "openflow")
    first, second = (config(kind, root, *profiles) for kind in KINDS)
    assert set(first) == set(second) == set(compose["services"])
    for name, service in first.items():
        for key in ("image", "command", "entrypoint", "user", "environment", "cap_add", "cap_drop", "read_only",
                    "restart", "profiles", "tmpfs"):  # fmt: skip
            assert service.get(key) == second[name].get(key), f"{name}: {key}"
        for key in ("networks", "depends_on", "logging"):
            assert set(service.get(key) or ()) == set(second[name].get(key) or ()), f"{name}: {key}"
        # seccomp=FILE, or seccomp:FILE as before Docker 1.11.
        options, others = (
            {option.replace("=", ":") for option in other["security_opt"]} for other in (service, second[name])
        )
        assert options == others, name
        assert {target(volume) for volume in service.get("volumes", ())} == {
            target(volume) for volume in second[name].get("volumes", ())
        }, name


def target(volume: str | dict[str, Any]) -> tuple[str, str, bool]:
    """What of a volume's mount both write: source, target, whether it is read-only."""
    if isinstance(volume, dict):
        return volume["source"], volume["target"], bool(volume.get("read_only"))
    source, path, *options = volume.split(":")
    return source, path, "ro" in ",".join(options).split(",")
