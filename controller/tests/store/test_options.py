# SPDX-License-Identifier: Apache-2.0

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from airbound.store.factory import open_store
from airbound.store.options import StoreOptions, servers


def test_without_options_the_store_is_in_memory() -> None:
    assert open_store(StoreOptions()).kind == "memory"


async def test_a_file_is_used_if_one_is_given(tmp_path: Path) -> None:
    store = open_store(StoreOptions(file=str(tmp_path / "records.sqlite")))
    await store.start("replica", lambda _: None, lambda: None)
    await store.close()
    assert (tmp_path / "records.sqlite").exists()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://localhost", (("localhost", 6379),)),
        ("rediss://redis.example:7000/", (("redis.example", 7000),)),
        ("redis://10.0.0.1:1,10.0.0.2:2,[2001:db8::1]:3", (("10.0.0.1", 1), ("10.0.0.2", 2), ("2001:db8::1", 3))),
    ],
)
def test_a_url_names_servers(url: str, expected: tuple[tuple[str, int], ...]) -> None:
    assert servers(url) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "http://localhost"}, "url\n.*expected redis://"),
        ({"url": "redis://"}, "expected redis://"),
        ({"url": "redis://localhost:0"}, "expected redis://"),
        ({"url": "redis://localhost:65536"}, "expected redis://"),
        ({"url": "redis://localhost/1"}, "expected redis://"),
        ({"url": "redis://localhost,"}, "expected redis://"),
        ({"url": "redis://name:secret@localhost"}, "user and password are keys of their own"),
        ({"url": "redis://a,b"}, "set cluster = true"),
        ({"url": "redis://a", "file": "/f"}, "file: is for a store without a server"),
        ({"cluster": True}, "cluster: needs a url"),
        ({"file": "relative"}, "absolute path"),
        ({"certificate_file": "/c"}, "one needs the other"),
        ({"prefix": "a b"}, "letters, digits"),
        ({"prefix": "{a}"}, "letters, digits"),
        ({"timeout_s": 0.0}, "timeout_s"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_what_is_wrong_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=f"(?s){message}"):
        TypeAdapter(StoreOptions).validate_json(json.dumps(options))
