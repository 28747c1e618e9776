# SPDX-License-Identifier: Apache-2.0
"""What a user of LuCI may do who has the rights of our file for rpcd, and those that LuCI gives everybody."""

import fnmatch
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

EVERYBODY: dict[str, Any] = {
    "ubus": {
        "file": ["list", "remove"],
        "luci": ["getFeatures"],
        "session": ["access"],
        "uci": ["add", "apply", "changes", "confirm", "delete", "get", "order", "rename", "set"],
    },
    "uci": {"luci": ["read"], "system": ["read"]},
}
"""The groups `unauthenticated` and `luci-base` of LuCI, without what no page of ours could come to use."""


@dataclass
class Permissions:
    """Functions by scope and object; an object may be a pattern of fnmatch(3), as in rpcd."""

    scopes: dict[str, dict[str, set[str]]] = field(default_factory=dict)

    @classmethod
    def of_file(cls, path: Path, *, write: bool = True) -> Self:
        """Everybody's, and those of each group in a file of rpcd."""
        permissions = cls()
        for scope, objects in EVERYBODY.items():
            permissions.add(scope, objects)
        for group in json.loads(path.read_text(encoding="utf-8")).values():
            for kind in ("read", "write") if write else ("read",):
                for scope, objects in group.get(kind, {}).items():
                    # A list of objects means the kind of access itself.
                    permissions.add(scope, {o: [kind] for o in objects} if isinstance(objects, list) else objects)
        return permissions

    def add(self, scope: str, objects: dict[str, list[str]]) -> None:
        """Grants functions of objects."""
        for name, functions in objects.items():
            self.scopes.setdefault(scope, {}).setdefault(name, set()).update(functions)

    def allow(self, scope: str, name: str, function: str) -> bool:
        """Whether this is granted."""
        return any(
            fnmatch.fnmatchcase(name, pattern) and function in functions
            for pattern, functions in self.scopes.get(scope, {}).items()
        )
