# SPDX-License-Identifier: Apache-2.0
"""The settings page in a browser: what it writes to /etc/config/airbound, and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from luci_pages.browser import Page
from luci_pages.recording import recorded
from luci_pages.router import Output, Router

OPTIONS = [
    "enabled",
    "controller",
    "token",
    "interface",
    "edca",
    "window_clamp",
    "station_flows",
    "enroll",
    "token_file",
    "credentials_dir",
    "bridge",
    "hostapd_config",
    "interval_ms",
    "log_level",
    "memory_limit_mb",
]
SAVE = ".cbi-button-save"
JOINS = json.loads((Path(__file__).parents[3] / "internal/identity/testdata/join.json").read_text(encoding="utf-8"))
"""What the agents read."""


def show(page: Page, site: str) -> None:
    page.open(f"{site}/settings", ".cbi-map .cbi-value")


def main(router: Router) -> dict[str, Any]:
    assert router.config
    return {key: value for key, value in router.config["main"].items() if not key.startswith(".")}


def modal(page: Page) -> str:
    """The text of the dialogue above the page, '' if there is none."""
    return " ".join(page.texts(".modal"))


def save(page: Page, router: Router) -> dict[str, Any]:
    """Saves, waits until something was written, and returns the configuration."""
    before = len(router.changes)
    page.click(SAVE)
    page.wait(lambda: len(router.changes) > before or modal(page))
    assert modal(page) == ""
    return main(router)


def refuse(page: Page, router: Router) -> str:
    """Saves, which must be refused with nothing written, and returns the message."""
    page.click(SAVE)
    page.wait(lambda: modal(page))
    assert router.changes == []
    return modal(page)


def test_every_option_is_there_with_a_description(page: Page, site: str) -> None:
    show(page, site)
    shown = [element.get_attribute("data-name") for element in page.all(".cbi-value")]
    assert shown == OPTIONS
    for element in page.all(".cbi-value-description"):
        assert len(element.get_attribute("textContent") or "") > 20


def test_a_new_access_point(page: Page, site: str, router: Router) -> None:
    router.config = {"main": {".type": "airbound", ".name": "main", "enabled": "0"}}
    nothing = recorded("nothing")
    router.output, router.service = (lambda: nothing), {}
    show(page, site)
    page.add("controller", "192.0.2.1:50051")
    page.add("controller", "[2001:db8::1]:50051")
    page.type("token", "A" * 66)
    page.set_option("enabled", "1")
    assert save(page, router) == {
        "enabled": "1",
        "controller": ["192.0.2.1:50051", "[2001:db8::1]:50051"],
        "token": "A" * 66,
        "edca": "1",
        "window_clamp": "1",
        "station_flows": "1",
        "log_level": "info",
    }


@pytest.mark.parametrize("row", JOINS["good"])
def test_one_string_joins(page: Page, site: str, router: Router, row: dict[str, str]) -> None:
    router.config = {"main": {".type": "airbound", ".name": "main", "enabled": "0"}}
    nothing = recorded("nothing")
    router.output, router.service = (lambda: nothing), {}
    show(page, site)
    page.type("token", f" {row['text']} ")
    page.set_option("enabled", "1")
    saved = save(page, router)
    assert (saved["controller"], saved["enroll"]) == ([row["controller"]], [row["enrolment"]])
    assert (saved["token"], saved["enabled"]) == (row["text"].rpartition(":")[2], "1")


def test_one_string_joins_another_controller(page: Page, site: str, router: Router) -> None:
    show(page, site)
    assert main(router)["controller"] == ["controller.example:50051"]
    page.type("token", JOINS["good"][1]["text"])
    saved = save(page, router)
    assert saved["controller"] == [JOINS["good"][1]["controller"]]


def test_all_other_options(page: Page, site: str, router: Router) -> None:
    show(page, site)
    page.set_option("interface", ["phy1-ap0"])
    page.set_option("edca", "0")
    page.set_option("window_clamp", "0")
    page.set_option("station_flows", "0")
    page.add("enroll", "controller.example:50053")
    page.type("token_file", "/etc/airbound/token")
    page.type("credentials_dir", "/etc/airbound")
    page.type("bridge", "br-lan")
    page.type("hostapd_config", "/var/run/hostapd-phy0.conf")
    page.type("interval_ms", "500")
    page.set_option("log_level", "warn")
    page.type("memory_limit_mb", "48")
    assert save(page, router) == {
        "enabled": "1",
        "controller": ["controller.example:50051"],
        "interface": ["phy1-ap0"],
        "edca": "0",
        "window_clamp": "0",
        "station_flows": "0",
        "enroll": ["controller.example:50053"],
        "token_file": "/etc/airbound/token",
        "credentials_dir": "/etc/airbound",
        "bridge": "br-lan",
        "hostapd_config": "/var/run/hostapd-phy0.conf",
        "interval_ms": "500",
        "log_level": "warn",
        "memory_limit_mb": "48",
    }


def test_access_point_interfaces_are_offered(page: Page, site: str) -> None:
    show(page, site)
    text = page.field("interface", "").get_attribute("textContent") or ""
    assert "phy0-ap0 (Attic)" in text
    assert "phy1-ap0 (Attic 5)" in text
    assert "phy1-sta0" not in text


def test_interfaces_that_are_not_there_now_stay(page: Page, site: str, router: Router) -> None:
    assert router.config
    router.config["main"]["interface"] = ["phy0-ap0", "phy7-ap0"]
    show(page, site)
    page.type("interval_ms", "2000")
    assert save(page, router)["interface"] == ["phy0-ap0", "phy7-ap0"]


def test_a_router_that_lists_no_interfaces(page: Page, site: str, router: Router) -> None:
    router.wireless = {}
    show(page, site)
    page.add("interface", "phy0-ap0")
    assert save(page, router)["interface"] == ["phy0-ap0"]


def test_the_token_is_hidden(page: Page, site: str) -> None:
    show(page, site)
    assert page.field("token", "input").get_attribute("type") == "password"


def test_the_token_can_be_removed_once_enrolled(page: Page, site: str, router: Router) -> None:
    assert router.config
    router.config["main"]["token"] = "A" * 66
    show(page, site)
    assert "is enrolled, and the token has been used" in page.field("token", ".cbi-value-description").text
    page.type("token", "")
    save(page, router)
    page.wait(lambda: "token" not in main(router))  # deleted by a call of its own
    assert ("delete", "airbound", "main", ["token"]) in router.changes


def test_before_enrolment_the_token_is_explained(
    page: Page, site: str, router: Router, aged: Callable[..., Callable[[], Output]]
) -> None:
    router.output = aged(recorded("token-used"))
    show(page, site)
    assert "airbound enroll access-point NAME" in page.field("token", ".cbi-value-description").text


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("token", "abc", "this one has 3 characters"),
        ("token", "A" * 65 + "=", "a token has 66"),
        ("token", "airbound1:controller.example:50051:50053:" + "A" * 65, "copy the whole line"),
        ("token", "airbound2:controller.example:50051:50053:" + "A" * 66, "copy the whole line"),
        ("interval_ms", "99", ""),
        ("interval_ms", "60001", ""),
        ("interval_ms", "500.5", ""),
        ("interval_ms", "1s", ""),
        ("credentials_dir", "airbound", "a directory of its own"),
        ("credentials_dir", "/etc", "a directory of its own"),
        ("credentials_dir", "/etc/airbound/", "a directory of its own"),
        ("credentials_dir", "/etc/airbound/../x", "a directory of its own"),
        ("credentials_dir", "/var/lib/airbound", "emptied when the access point starts"),
        ("credentials_dir", "/run/airbound", "emptied when the access point starts"),
        ("token_file", "token", "an absolute path"),
        ("hostapd_config", "hostapd.conf", "an absolute path"),
        ("bridge", "br/lan", "the name of a network interface"),
        ("bridge", "br lan", "the name of a network interface"),
        ("bridge", "..", "the name of a network interface"),
        ("bridge", "br-sixteen-bytes", "the name of a network interface"),
        ("memory_limit_mb", "7", ""),
        ("memory_limit_mb", "513", ""),
        ("memory_limit_mb", "much", ""),
    ],
)
def test_a_value_that_is_refused(page: Page, site: str, router: Router, option: str, value: str, says: str) -> None:
    show(page, site)
    page.type(option, value)
    message = refuse(page, router)
    assert "contains an invalid input value" in message
    assert says in message


@pytest.mark.parametrize(
    "address", ["controller.example", "192.0.2.1", "192.0.2.1:99999", ":50051", "2001:db8::1:50051x", "a b:1"]
)
def test_an_address_that_is_refused(page: Page, site: str, address: str) -> None:
    show(page, site)
    page.add("controller", address)
    assert page.texts(".cbi-value[data-name='controller'] .item") == ["controller.example:50051"]
    assert len(page.all(".cbi-value[data-name='controller'] .cbi-input-invalid")) == 1


def test_it_cannot_be_enabled_without_a_controller(page: Page, site: str, router: Router) -> None:
    assert router.config
    del router.config["main"]["controller"]
    show(page, site)
    assert "The agent needs a controller: enter its address." in refuse(page, router)


def test_it_can_be_disabled_without_a_controller(page: Page, site: str, router: Router) -> None:
    assert router.config
    del router.config["main"]["controller"]
    show(page, site)
    page.set_option("enabled", "0")
    assert save(page, router)["enabled"] == "0"


def test_no_configuration(page: Page, site: str, router: Router) -> None:
    router.config, router.output = None, None
    page.open(f"{site}/settings", "#view h2")
    assert page.titles() == ["No configuration"]
    assert page.all(SAVE) == []
