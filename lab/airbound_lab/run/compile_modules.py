# SPDX-License-Identifier: Apache-2.0
"""Compiles the modules of the controller, and those that it imports, for the guest (compiled.py).

Run by the guest's interpreter on the host. Standard input: `prefix`, the directory of compiled modules, and
`host_directories`, the host's directory for each of the guest's.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import pkgutil
import py_compile
import sys
import warnings
from pathlib import Path

CONTROLLER = "airbound"
ENTRY_POINT = f"{CONTROLLER}.__main__"


def import_controller() -> None:
    """Import the controller's modules, and with them what they import."""
    package = importlib.import_module(CONTROLLER)
    for module in pkgutil.walk_packages(package.__path__, f"{CONTROLLER}.", onerror=lambda _name: None):
        if module.name != ENTRY_POINT:  # importing that runs it
            # What a door does not need is not installed for it: os-ken, for one.
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)


def sources() -> set[Path]:
    """Files of all modules that are imported now, and of all of the controller's."""
    origins = {getattr(getattr(module, "__spec__", None), "origin", None) for module in list(sys.modules.values())}
    imported = {Path(origin) for origin in origins if origin and origin.endswith(".py")}
    [controller] = sys.modules[CONTROLLER].__path__
    return imported | set(Path(controller).rglob("*.py"))


def main() -> None:
    """Compile. A source outside of the guest's directories is left out: the guest does not see it."""
    request = json.load(sys.stdin)
    guest_of = {Path(path): guest for guest, path in request["host_directories"].items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_controller()
    sys.pycache_prefix = request["prefix"]
    for source in sorted(sources()):
        for directory, guest in guest_of.items():
            if source.is_relative_to(directory):
                path = f"{guest}/{source.relative_to(directory)}"
                py_compile.compile(
                    str(source),
                    cfile=importlib.util.cache_from_source(path),
                    dfile=path,
                    doraise=True,
                    # Not by the source's date, which differs from checkout to checkout.
                    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
                )
                break


if __name__ == "__main__":
    main()
