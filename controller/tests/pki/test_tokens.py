# SPDX-License-Identifier: Apache-2.0

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airbound.pki.tokens import EnrollmentToken

OCTETS = st.builds(EnrollmentToken, st.binary(min_size=16, max_size=16), st.binary(min_size=32, max_size=32))
BASE64URL = string.ascii_letters + string.digits + "-_"


def read(text: str) -> tuple[EnrollmentToken | None, str]:
    try:
        return EnrollmentToken.of_text(text), ""
    except ValueError as error:
        return None, str(error)


@given(OCTETS)
def test_a_token_survives_its_text(token: EnrollmentToken) -> None:
    text = token.text()
    assert EnrollmentToken.of_text(text) == token
    assert len(text) == 66
    assert set(text) <= set(BASE64URL)


@given(OCTETS, st.integers(0, 65), st.sampled_from(BASE64URL))
def test_no_two_texts_are_one_token(token: EnrollmentToken, position: int, other: str) -> None:
    text = token.text()
    assume(text[position] != other)
    changed = text[:position] + other + text[position + 1 :]
    found, complaint = read(changed)
    assert found != token
    assert changed not in complaint


@given(st.text(max_size=100))
def test_any_text_is_a_token_or_an_error_that_does_not_repeat_it(text: str) -> None:
    token, complaint = read(text)
    assert token is None or token.text() == text
    assert len(text) < 8 or text not in complaint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "has 0"),
        ("A" * 67, "has 67"),
        ("A" * 66, "version 0"),
        ("Ag" + "A" * 64, "version 2"),
        ("AQ" + "!" * 64, "letters, digits"),
        ("AQ" + "\u00e4" * 64, "letters, digits"),
        ("AQ" + "A" * 63 + "B", "last character"),
    ],
)
def test_what_is_wrong_is_named(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        EnrollmentToken.of_text(text)


def test_tokens_differ_and_their_hash_is_that_of_the_secret() -> None:
    one, two = EnrollmentToken.new(bytes(32)), EnrollmentToken.new(bytes(32))
    assert one.secret != two.secret
    assert one.secret_sha256() == EnrollmentToken(one.secret, bytes([1]) * 32).secret_sha256() != two.secret_sha256()
