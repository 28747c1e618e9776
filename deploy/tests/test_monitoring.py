# SPDX-License-Identifier: Apache-2.0
"""Configurations of Prometheus, HAProxy and Grafana, by the programs themselves where they are at hand."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

PROVISIONING = "dashboards/provisioning"


def test_prometheus_takes_its_configuration_and_the_rules(root: Path, tmp_path: Path) -> None:
    text = (root / "deploy/prometheus/prometheus.yml").read_text(encoding="utf-8")
    assert "/etc/prometheus/rules/*.yml" in text
    config = tmp_path / "prometheus.yml"
    config.write_text(text.replace("/etc/prometheus/rules", str(root / "dashboards" / "rules")), encoding="utf-8")
    subprocess.run(["promtool", "check", "config", str(config)], check=True)


def test_prometheus_finds_every_replica(root: Path, compose: dict[str, Any]) -> None:
    config = yaml.safe_load((root / "deploy/prometheus/prometheus.yml").read_text(encoding="utf-8"))
    (of_dns,) = (job["dns_sd_configs"][0] for job in config["scrape_configs"] if "dns_sd_configs" in job)
    controller = compose["services"]["controller"]
    assert of_dns["names"] == controller["networks"]["monitoring"]["aliases"]
    assert controller["environment"]["AIRBOUND_METRICS__LISTEN"] == f"0.0.0.0:{of_dns['port']}"


def test_haproxy_takes_its_configuration(root: Path, compose: dict[str, Any]) -> None:
    program = shutil.which("haproxy") or "/usr/sbin/haproxy"
    name = compose["services"]["load-balancer"]["environment"]["CONTROLLERS"]
    assert [name] == compose["services"]["controller"]["networks"]["front"]["aliases"]
    environment = {**os.environ, "CONTROLLERS": name, "RESOLVER": "127.0.0.11:53"}
    file = str(root / "deploy/haproxy/haproxy.cfg")
    checked = subprocess.run([program, "-c", "-f", file], check=True, env=environment, capture_output=True, text=True)
    assert "WARNING" not in checked.stdout + checked.stderr


def test_haproxy_listens_where_ports_are_published(root: Path, compose: dict[str, Any]) -> None:
    text = (root / "deploy/haproxy/haproxy.cfg").read_text(encoding="utf-8")
    bound = set(re.findall(r"^\tbind :(\d+)$", text, re.MULTILINE))
    published = {port.rpartition(":")[2] for port in compose["services"]["load-balancer"]["ports"]}
    assert published == bound - {"8404"}


def test_grafana_s_provisioning_is_whole(root: Path, compose: dict[str, Any]) -> None:
    files = sorted((root / PROVISIONING).rglob("*.yml"))
    documents = {file.parent.name: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}
    assert sorted(documents) == ["alerting", "dashboards", "datasources"]
    assert {document["apiVersion"] for document in documents.values()} == {1}
    (source,) = documents["datasources"]["datasources"]
    host, port = re.fullmatch(r"http://([a-z]+):(\d+)", source["url"]).groups()  # type: ignore[union-attr]
    assert host in compose["services"]
    assert any(word.endswith(f":{port}") for word in compose["services"][host]["command"])
    mounted = {volume.split(":")[1] for volume in compose["services"]["grafana"]["volumes"]}
    assert documents["dashboards"]["providers"][0]["options"]["path"] in mounted
    assert compose["services"]["grafana"]["environment"]["GF_PATHS_PROVISIONING"] in mounted
    for group in documents["alerting"]["groups"]:
        for rule in group["rules"]:
            assert rule["condition"] in {query["refId"] for query in rule["data"]}
            assert {query["datasourceUid"] for query in rule["data"]} <= {source["uid"], "__expr__"}


def test_nothing_in_the_provisioning_is_taken_for_a_variable(root: Path) -> None:
    for file in (root / PROVISIONING).rglob("*.yml"):
        assert "$" not in file.read_text(encoding="utf-8"), file


def test_nobody_gets_into_grafana_without_a_password(root: Path, compose: dict[str, Any]) -> None:
    environment = compose["services"]["grafana"]["environment"]
    assert environment["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    assert environment["GF_USERS_ALLOW_SIGN_UP"] == "false"
    assert "GF_SECURITY_ADMIN_PASSWORD" not in environment
    assert environment["GF_SECURITY_ADMIN_PASSWORD__FILE"].startswith("/run/airbound/")
    assert "PASSWORD" not in (root / ".env.example").read_text(encoding="utf-8")


def named(found: Any, key: str) -> list[Any]:
    """Values of a key, wherever it is."""
    values = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return [
        *([found[key]] if isinstance(found, dict) and key in found else ()),
        *(found for value in values for found in named(value, key)),
    ]


def test_dashboards_ask_the_data_source_that_is_provisioned(root: Path) -> None:
    """By a variable that lists data sources of its type, of which there is one."""
    file = root / PROVISIONING / "datasources" / "prometheus.yml"
    (source,) = yaml.safe_load(file.read_text(encoding="utf-8"))["datasources"]
    dashboards = sorted((root / "dashboards" / "generated").glob("*.json"))
    assert len(dashboards) > 3
    for dashboard in dashboards:
        content = json.loads(dashboard.read_text(encoding="utf-8"))
        (variable,) = (listed for listed in content["templating"]["list"] if listed["type"] == "datasource")
        assert variable["query"] == source["type"]
        uids = {source["uid"] for source in named(content["panels"], "datasource")}
        assert uids == {f"${{{variable['name']}}}"}, dashboard.name
