# SPDX-License-Identifier: Apache-2.0
"""What LuCI and rpcd read beside the pages: menu, rights, translations, and the Makefile."""

import json
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from luci_pages import recording, translations
from luci_pages.permissions import Permissions
from luci_pages.router import PROGRAM
from luci_pages.site import APPLICATION, RIGHTS, Modules

ROOT = Path(__file__).parents[3]
MENU = APPLICATION / "root/usr/share/luci/menu.d/luci-app-airbound.json"
VIEWS = APPLICATION / "htdocs/luci-static/resources/view"


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_menu_leads_to_pages_that_are_there() -> None:
    menu = load(MENU)
    for entry in menu.values():
        action = entry["action"]
        if action["type"] == "alias":
            assert action["path"] in menu
        else:
            assert (VIEWS / f"{action['path']}.js").is_file()


def test_a_user_without_our_rights_has_no_menu() -> None:
    (group,) = load(RIGHTS)
    assert load(MENU)["admin/services/airbound"]["depends"] == {"acl": [group]}


def test_the_rights_are_the_least_that_the_pages_need() -> None:
    (rights,) = load(RIGHTS).values()
    assert rights["read"] == {
        "file": {f"{PROGRAM} status --json": ["exec"]},
        "ubus": {
            "file": ["exec"],
            "iwinfo": ["devices", "info"],
            "luci-rpc": ["getHostHints"],
            "service": ["list"],
            "system": ["info"],
        },
        "uci": ["airbound"],
    }
    assert rights["write"] == {
        "file": {f"{PROGRAM} check": ["exec"]},
        "ubus": {"uci": ["revert"]},
        "uci": ["airbound"],
    }


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        (f"{PROGRAM} status --json", True),
        (f"{PROGRAM} check", True),
        (f"{PROGRAM} check --state-dir /etc", False),
        (PROGRAM, False),
        (f"{PROGRAM} status --json --state-dir /etc", False),
        (f"{PROGRAM} run --json", False),
        ("/bin/sh", False),
    ],
)
def test_no_other_command_may_be_run(command: str, *, allowed: bool) -> None:
    assert Permissions.of_file(RIGHTS).allow("file", command, "exec") is allowed


def test_a_user_who_may_only_read_changes_nothing() -> None:
    permissions = Permissions.of_file(RIGHTS, write=False)
    assert permissions.allow("uci", "airbound", "read")
    assert not permissions.allow("uci", "airbound", "write")
    assert permissions.allow("file", f"{PROGRAM} status --json", "exec")
    assert not permissions.allow("file", f"{PROGRAM} check", "exec")


def test_the_template_of_translations_is_current() -> None:
    assert translations.TEMPLATE.read_text(encoding="utf-8") == translations.template(), (
        "run: PYTHONPATH=ap-firmware/luci/testing python -m luci_pages.translations"
    )


def test_the_template_has_each_sentence() -> None:
    found = list(translations.of_javascript("_('It\\'s ' +\n\t'one');\nx_('no'); a._('no'); [ _('two') ]"))
    assert found == [(1, "It's one"), (3, "two")]
    with pytest.raises(translations.NotASentenceError):
        list(translations.of_javascript("_(title)"))


def test_modules_find_each_other() -> None:
    for file in (APPLICATION / "htdocs").rglob("*.js"):
        for name in re.findall(r"^'require (\S+?)(?: as \w+)?';$", file.read_text(encoding="utf-8"), re.MULTILINE):
            path = f"/luci-static/resources/{name.replace('.', '/')}.js"
            assert name in {"baseclass", "dom", "poll", "view"} or Modules().file(path), f"{file.name}: {name}"


def test_a_release_has_the_name_and_the_dependencies_of_the_package() -> None:
    makefile = (APPLICATION / "Makefile").read_text(encoding="utf-8")
    assert "LUCI_NAME:=luci-app-airbound\n" in makefile
    assert "LUCI_DEPENDS:=+luci-base +airbound-ap +rpcd-mod-iwinfo\n" in makefile
    assert "LUCI_PKGARCH:=all\n" in makefile
    assert makefile.rstrip().endswith("# call BuildPackage - OpenWrt buildroot signature")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The package's files."""
    subprocess.run([APPLICATION / "install.sh", tmp_path], check=True)
    return tmp_path


def test_the_package_has_the_files_and_nothing_else(tree: Path) -> None:
    files = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    assert files == {
        "usr/share/luci/menu.d/luci-app-airbound.json",
        "usr/share/rpcd/acl.d/luci-app-airbound.json",
        "www/luci-static/resources/airbound/agents.js",
        "www/luci-static/resources/airbound/checks.js",
        "www/luci-static/resources/airbound/format.js",
        "www/luci-static/resources/airbound/periods.js",
        "www/luci-static/resources/airbound/problems.js",
        "www/luci-static/resources/airbound/summary.js",
        "www/luci-static/resources/view/airbound/settings.js",
        "www/luci-static/resources/view/airbound/status.js",
    }
    assert {stat.S_IMODE((tree / file).stat().st_mode) for file in files} == {0o644}


def test_the_ipk_takes_every_file_to_its_place(tree: Path) -> None:
    configuration = yaml.safe_load((APPLICATION / "nfpm.yaml").read_text(encoding="utf-8"))
    placed = set()
    for content in configuration["contents"]:
        pattern = content["src"].removeprefix("${TREE}/")
        for path in tree.glob(pattern):
            is_folder = content["dst"].endswith("/")
            placed.add((path.relative_to(tree), content["dst"] + (path.name if is_folder else "")))
        assert content["file_info"] == {"mode": 0o644}
    assert placed == {
        (path.relative_to(tree), f"/{path.relative_to(tree)}") for path in tree.rglob("*") if path.is_file()
    }
    assert configuration["arch"] == "all"
    assert configuration["depends"] == ["luci-base", "airbound-ap", "rpcd-mod-iwinfo"]
    for script in configuration["scripts"].values():
        assert (ROOT / script).is_file()


def test_each_state_is_recorded() -> None:
    assert {path.stem for path in recording.RECORDED.glob("*.json")} == set(recording.STATES)


@pytest.mark.parametrize("state", sorted(recording.STATES))
def test_the_program_prints_what_was_recorded(state: str) -> None:
    before = recording.recorded(state)
    now = recording.run(ROOT / "build/airbound-ap", state)
    assert now.code == before.code
    assert recording.comparable(json.loads(now.stdout)) == recording.comparable(json.loads(before.stdout))
