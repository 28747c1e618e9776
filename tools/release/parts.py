# SPDX-License-Identifier: Apache-2.0
"""CycloneDX 1.6 of a release: its files with their hashes, its programs, and the modules that each is built of."""

import datetime
import hashlib
import re
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

NAME = "airbound"
LOCKED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)


def python_modules(lock: str) -> list[PackageURL]:
    """Those of a lock file of pip.

    Raises:
        ValueError: there are none.
    """
    found = [
        PackageURL("pypi", None, name.lower().replace("_", "-"), version) for name, version in LOCKED.findall(lock)
    ]
    if not found:
        raise ValueError("no module in the lock file")
    return found


def go_modules(listed: str) -> list[PackageURL]:
    """Those of a program, a line "PATH VERSION" for each.

    Raises:
        ValueError: a line is another one, or there are none.
    """
    found = []
    for line in listed.splitlines():
        path, version = line.split()
        namespace, _, name = path.rpartition("/")
        found.append(PackageURL("golang", namespace or None, name, version))
    if not found:
        raise ValueError("a program without modules")
    return found


def file_hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file, by its path in the folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def bom(version: str, time_s: int, files: Mapping[str, str], programs: Mapping[str, Sequence[PackageURL]]) -> str:
    """The document. The same parts give the same text: its number follows from the files."""
    whole = Component(name=NAME, version=version, type=ComponentType.APPLICATION, bom_ref=NAME)
    modules = {
        str(url): Component(
            name=f"{url.namespace}/{url.name}" if url.namespace else url.name,
            version=url.version,
            type=ComponentType.LIBRARY,
            purl=url,
            bom_ref=str(url),
        )
        for urls in programs.values()
        for url in urls
    }
    made = {
        name: Component(name=name, version=version, type=ComponentType.APPLICATION, bom_ref=f"program:{name}")
        for name in programs
    }
    contents = [
        Component(
            name=path,
            type=ComponentType.FILE,
            bom_ref=f"file:{path}",
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
        )
        for path, digest in files.items()
    ]
    digest = hashlib.sha256("".join(f"{path} {found}\n" for path, found in sorted(files.items())).encode())
    document = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_OID, digest.hexdigest()),
        metadata=BomMetaData(component=whole, timestamp=datetime.datetime.fromtimestamp(time_s, datetime.UTC)),
        components=[*contents, *made.values(), *modules.values()],
    )
    document.register_dependency(whole, [*made.values(), *contents])
    for name, urls in programs.items():
        document.register_dependency(made[name], [modules[str(url)] for url in urls])
    return make_outputter(document, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2) + "\n"
