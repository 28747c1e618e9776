# SPDX-License-Identifier: Apache-2.0

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.pki.identities import (
    CLIENT_ROLES,
    CONTROLLER,
    Identity,
    IdentityError,
    checked_trust_domain,
    identity_of_text,
    identity_of_uri,
    server_name,
    trust_domain_of_uri,
    trust_domain_uri,
)

ALLOWED = string.ascii_letters + string.digits + ".-_"
NAMES = st.text(ALLOWED, min_size=1, max_size=64).filter(lambda name: name not in {".", ".."})
ROLES = st.sampled_from([*CLIENT_ROLES, CONTROLLER])
DOMAIN = "wifi.example"


@given(ROLES, NAMES)
def test_an_identity_survives_its_uri_and_its_text(role: str, name: str) -> None:
    identity = Identity(role, name)  # type: ignore[arg-type]
    assert identity_of_uri(identity.uri(DOMAIN), DOMAIN) == identity
    assert identity_of_text(str(identity)) == identity
    assert identity.uri(DOMAIN) == f"spiffe://{DOMAIN}/{role}/{name}"


@given(st.text(max_size=80))
def test_a_name_has_the_characters_of_a_spiffe_path(name: str) -> None:
    good = 1 <= len(name) <= 64 and set(name) <= set(ALLOWED) and name not in {".", ".."}
    try:
        Identity("terminal", name)
    except IdentityError:
        assert not good
    else:
        assert good


@given(st.text(max_size=120))
def test_any_uri_is_an_identity_or_an_error(uri: str) -> None:
    try:
        identity = identity_of_uri(uri, DOMAIN)
    except IdentityError:
        return
    assert identity.uri(DOMAIN) == uri


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "spiffe://wifi.example",
        "spiffe://wifi.example/terminal",
        "spiffe://wifi.example/terminal/",
        "spiffe://wifi.example/terminal/a/b",
        "spiffe://wifi.example/terminal/a?b",
        "spiffe://wifi.example/terminal/02:00:00:00:00:01",
        "spiffe://wifi.example/terminal/\u00e4",
        "spiffe://wifi.example/terminal/a\n",
        "spiffe://wifi.example/admin/a",
        "spiffe://wifi.example.org/terminal/a",
        "spiffe://WIFI.EXAMPLE/terminal/a",
        "SPIFFE://wifi.example/terminal/a",
        "https://wifi.example/terminal/a",
    ],
)
def test_what_is_no_identity_of_the_trust_domain(uri: str) -> None:
    with pytest.raises(IdentityError):
        identity_of_uri(uri, DOMAIN)


@pytest.mark.parametrize("text", ["terminal", "terminal/", "/a", "admin/a", ""])
def test_what_is_no_identity(text: str) -> None:
    with pytest.raises(IdentityError):
        identity_of_text(text)


@pytest.mark.parametrize("domain", ["airbound.internal", "a", "a-b.c1", "x" * 63, ".".join(["a"] * 100)])
def test_a_trust_domain(domain: str) -> None:
    assert trust_domain_of_uri(trust_domain_uri(domain)) == domain
    assert server_name(domain) == f"controller.{domain}"


@pytest.mark.parametrize(
    "domain", ["", "A", "a_b", ".a", "a.", "a..b", "-a", "a-", "a/b", "x" * 64, ".".join(["a"] * 101), "a\n", "\u00e4"]
)
def test_what_is_no_trust_domain(domain: str) -> None:
    with pytest.raises(IdentityError):
        checked_trust_domain(domain)
    with pytest.raises(IdentityError):
        trust_domain_of_uri(f"spiffe://{domain}")
