# SPDX-License-Identifier: Apache-2.0
"""The router behind the pages: what ubus, rpcd and procd answer, with rpcd's rules about who may ask what.

It answers only what a router would; a call that it does not know is an error that a test sees in `complaints`.
"""

import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from luci_pages.permissions import Permissions

# ubus_msg_status of libubus.
OK, INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED = 0, 2, 4, 6

UPTIME_S = 100_000
"""The router's; it stands still."""

PROGRAM = "/usr/sbin/airbound-ap"

Reply = list[Any]


@dataclass
class Output:
    """How a run of the program ended."""

    stdout: str = ""
    code: int = 0
    stderr: str = ""


def default_config() -> dict[str, Any]:
    """A configuration of an access point in use."""
    return {
        "main": {
            ".type": "airbound",
            ".name": "main",
            ".anonymous": False,
            "enabled": "1",
            "controller": ["controller.example:50051"],
        }
    }


@dataclass
class Router:
    """One access point. Tests change the fields; pages ask."""

    permissions: Permissions
    output: Callable[[], Output] | None = None
    """Runs `airbound-ap status --json`; None if there is no such program."""
    config: dict[str, Any] | None = field(default_factory=default_config)
    """/etc/config/airbound; None if there is no such file."""
    service: dict[str, Any] = field(default_factory=dict)
    """What procd has of the service: {} or {"instances": ...}."""
    wireless: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The wireless interfaces, as iwinfo has them."""
    complaints: list[str] = field(default_factory=list)
    """Calls that no router answers, and those that were not permitted."""
    changes: list[tuple[str, str, str, Any]] = field(default_factory=list)
    """Calls that changed the configuration: set or delete, config, section, values or names."""
    waiting: dict[str, list[list[str]]] = field(default_factory=dict)
    """Changes of the user that are not applied yet, by configuration, as `uci changes` has them."""
    applied: list[str] = field(default_factory=list)
    """What was applied and confirmed: "apply" and "confirm", in their order."""
    apply_status: int = OK
    """What rpcd answers to "apply"; another one than OK changes nothing."""
    before: dict[str, Any] | None = None
    """The configuration before the changes that are not applied yet."""
    hints: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the router knows of addresses, as `luci-rpc getHostHints` has it."""
    runs: int = 0
    """How often the program ran."""
    check: Output = field(default_factory=lambda: Output("phy0-ap0: asked for\n"))
    """How `airbound-ap check` ends."""
    checks: int = 0
    """How often that ran."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def call(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to a JSON-RPC message of uhttpd-mod-ubus."""
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id")}
        if message.get("method") == "list":
            return {**answer, "result": {}}
        _, name, function, arguments = message["params"]
        with self.lock:
            if not self.permissions.allow("ubus", name, function):
                self.complaints.append(f"not permitted: ubus {name} {function}")
                return {**answer, "error": {"code": -32002, "message": "Access denied"}}
            handler = getattr(self, f"_{name.replace('-', '_')}_{function}", None)
            if handler is None:
                self.complaints.append(f"no answer to: ubus {name} {function}")
                return {**answer, "error": {"code": -32000, "message": "Object not found"}}
            return {**answer, "result": handler(arguments)}

    def _luci_getFeatures(self, _: dict[str, Any]) -> Reply:  # noqa: N802 # ubus's name
        return [OK, {}]

    def _session_access(self, arguments: dict[str, Any]) -> Reply:
        return [
            OK,
            {"access": self.permissions.allow(arguments["scope"], arguments["object"], arguments["function"])},
        ]

    def _file_list(self, _: dict[str, Any]) -> Reply:
        return [NOT_FOUND]

    def _file_exec(self, arguments: dict[str, Any]) -> Reply:
        """As rpcd: first whether the program is there, then whether it, or it with these arguments, is permitted."""
        command = arguments["command"]
        if command != PROGRAM or self.output is None:
            return [NOT_FOUND]
        line = " ".join([command, *arguments.get("params", [])])
        if not (self.permissions.allow("file", command, "exec") or self.permissions.allow("file", line, "exec")):
            return [PERMISSION_DENIED]
        if arguments.get("params") == ["check"]:
            self.checks += 1
            ended = self.check
        else:
            self.runs += 1
            ended = self.output()
        reply: dict[str, Any] = {"code": ended.code}
        # rpcd leaves out what is empty.
        reply |= {"stdout": ended.stdout} if ended.stdout else {}
        reply |= {"stderr": ended.stderr} if ended.stderr else {}
        return [OK, reply]

    def _service_list(self, arguments: dict[str, Any]) -> Reply:
        return [OK, {"airbound-ap": self.service} if self.service and arguments.get("name") == "airbound-ap" else {}]

    def _system_info(self, _: dict[str, Any]) -> Reply:
        return [OK, {"uptime": UPTIME_S}]

    def _luci_rpc_getHostHints(self, _: dict[str, Any]) -> Reply:  # noqa: N802 # ubus's name
        return [OK, self.hints]

    def _iwinfo_devices(self, _: dict[str, Any]) -> Reply:
        return [OK, {"devices": list(self.wireless)}]

    def _iwinfo_info(self, arguments: dict[str, Any]) -> Reply:
        info = self.wireless.get(arguments["device"])
        return [NOT_FOUND] if info is None else [OK, info]

    def _uci_get(self, arguments: dict[str, Any]) -> Reply:
        name = arguments["config"]
        if not self.permissions.allow("uci", name, "read"):
            return [PERMISSION_DENIED]
        if name == "luci":
            return [OK, {"values": {"main": {".type": "core", ".name": "main"}}}]
        return [NOT_FOUND] if name != "airbound" or self.config is None else [OK, {"values": self.config}]

    def _uci_changes(self, _: dict[str, Any]) -> Reply:
        return [OK, {"changes": self.waiting}]

    def _uci_apply(self, _: dict[str, Any]) -> Reply:
        if self.apply_status == OK:
            self.applied.append("apply")
            self.before = None
        return [self.apply_status]

    def _uci_confirm(self, _: dict[str, Any]) -> Reply:
        self.applied.append("confirm")
        return [OK]

    def _uci_revert(self, arguments: dict[str, Any]) -> Reply:
        if not self.permissions.allow("uci", arguments["config"], "write"):
            return [PERMISSION_DENIED]
        if self.before is not None:
            self.config, self.before = self.before, None
        return [OK]

    def _uci_set(self, arguments: dict[str, Any]) -> Reply:
        return self._change("set", arguments, arguments["values"])

    def _uci_delete(self, arguments: dict[str, Any]) -> Reply:
        return self._change("delete", arguments, arguments["options"])

    def _change(self, kind: str, arguments: dict[str, Any], what: Any) -> Reply:
        name, section = arguments["config"], arguments["section"]
        if not self.permissions.allow("uci", name, "write"):
            self.complaints.append(f"not permitted: change of {name}")
            return [PERMISSION_DENIED]
        if name != "airbound" or self.config is None or section not in self.config:
            return [NOT_FOUND]
        self.before = self.before or copy.deepcopy(self.config)
        self.changes.append((kind, name, section, what))
        if kind == "set":
            self.config[section].update(what)
        else:
            for option in what:
                self.config[section].pop(option, None)
        return [OK]
