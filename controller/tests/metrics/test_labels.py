# SPDX-License-Identifier: Apache-2.0

from hypothesis import example, given
from hypothesis import strategies as st

from airbound.metrics.labels import VALUE_MAX_CHARACTERS, label_set, octets_text, printable
from airbound_testing.scrapes import Samples

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=300)


def read(value: str) -> str:
    """What a parser reads of a label's value."""
    ((_, labels),) = Samples(f"# TYPE x gauge\nx{label_set({'a': value})} 1\n").by_series
    ((_, found),) = labels
    ((_, openmetrics),) = Samples(f"# TYPE x gauge\nx{label_set({'a': value})} 1\n# EOF\n", openmetrics=True).by_series
    assert openmetrics == labels
    return found


@given(ANYTHING)
@example("\ud800")
@example('"} 1\nforged{a="')
@example("\\")
@example("\\n\n\r\x85\u2028\x00")
def test_any_text_becomes_a_value_that_parsers_read(text: str) -> None:
    value = printable(text)
    assert value.isprintable()
    assert len(value) <= VALUE_MAX_CHARACTERS
    assert value.encode().decode() == value
    assert read(value) == value
    if text.isprintable() and len(text) <= VALUE_MAX_CHARACTERS:
        assert value == text


@given(st.binary(max_size=64))
@example(b'\xff\xfe\x00\n"')
def test_any_network_name_becomes_a_value_that_parsers_read(octets: bytes) -> None:
    assert read(octets_text(octets)) == octets_text(octets)


def test_texts_that_are_too_long_stay_two() -> None:
    long = "a" * 10_000
    assert len(printable(long)) == VALUE_MAX_CHARACTERS
    assert printable(long) != printable(f"{long}b")
    assert printable(long) == printable(long)


def test_a_network_name_that_is_utf_8_shows_as_it_is() -> None:
    assert octets_text("Café ☕".encode()) == "Café ☕"
    assert octets_text(b"a\xffb") == "a\\xffb"
