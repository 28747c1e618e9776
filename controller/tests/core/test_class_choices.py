# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.class_choices import CLASS_WORDS, OWN, ClassChoices, reclassified
from airbound.core.reports import APP_PARTS_MAX, APP_UIDS_MAX, AppPart
from airbound.v1 import terminal_pb2

HERE, THERE = bytes([10, 0, 4, 1]), bytes([10, 0, 5, 1])
MAC, NAME = bytes([2, 0, 0, 0, 1, 0]), "phone-17"
DEFAULT, LIVE, BURST, BULK, BACKGROUND = range(5)


def test_classes_have_the_numbers_of_the_wire() -> None:
    names = [f"APPLICATION_CLASS_{word.upper()}" for word in CLASS_WORDS[1:]]
    assert terminal_pb2.ApplicationClass.keys() == ["APPLICATION_CLASS_UNSPECIFIED", *names]
    assert terminal_pb2.ApplicationClass.values() == list(range(len(CLASS_WORDS)))
    assert OWN not in CLASS_WORDS


def test_a_choice_counts_until_it_is_ended() -> None:
    choices = ClassChoices()
    assert choices.find(NAME, MAC) == {}
    assert choices.choose(NAME, 7, LIVE) is None
    assert choices.choose(NAME, 7, BULK) == LIVE
    assert choices.choose(NAME, None, DEFAULT) is None
    assert choices.find(NAME, MAC) == {7: BULK, None: DEFAULT}
    assert choices.choose("02:00:00:00:01:00", 7, BURST) is None  # the MAC goes before the name
    assert choices.find(NAME, MAC) == {7: BURST, None: DEFAULT}
    assert choices.find("another", bytes(6)) == {}
    assert choices.all == {(NAME, 7): BULK, (NAME, None): DEFAULT, ("02:00:00:00:01:00", 7): BURST}
    assert choices.choose(NAME, None, None) == DEFAULT
    assert choices.choose(NAME, 7, None) == BULK
    assert choices.choose(NAME, 7, None) is None
    assert choices.find(NAME, MAC) == {7: BURST}
    assert choices.choose("02:00:00:00:01:00", 7, None) == BURST
    assert (choices.find(NAME, MAC), choices.all) == ({}, {})


def test_a_choice_by_a_name_that_reads_as_a_mac_address_is_of_the_terminal_of_that_name() -> None:
    choices = ClassChoices()
    choices.choose("02:00:00:00:01:07", None, LIVE)
    assert choices.find("02-00-00-00-01-07", MAC) == {None: LIVE}
    assert choices.find(NAME, bytes([2, 0, 0, 0, 1, 7])) == {None: LIVE}
    assert choices.find("02-00-00-00-01-08", MAC) == {}


def part(number: int, *uids: int, delivered: int = 1000, queued: int = 10, address: bytes = HERE) -> AppPart:
    return AppPart(address, number, 1, delivered, queued, uids)


def test_all_of_a_terminal_is_of_a_class() -> None:
    parts = (part(LIVE, 7), part(BULK, 8, 9), part(DEFAULT, 10), part(DEFAULT, 11, address=THERE))
    assert reclassified(parts, {None: BURST}) == (
        AppPart(HERE, BURST, 3, 3000, 30, (7, 8, 9, 10)), part(BURST, 11, address=THERE),
    )  # fmt: skip
    assert reclassified(parts, {None: DEFAULT}) == ()


def test_one_application_is_of_another_class() -> None:
    # The only one of its class there: all that the class sent is its.
    assert reclassified((part(DEFAULT, 7), part(BULK, 8)), {7: LIVE}) == (part(LIVE, 7), part(BULK, 8))
    assert reclassified((part(LIVE, 7), part(BULK, 8)), {7: DEFAULT}) == (part(BULK, 8),)
    assert reclassified((part(LIVE, 7), part(DEFAULT, 8)), {8: LIVE}) == (AppPart(HERE, LIVE, 2, 2000, 20, (7, 8)),)
    # Beside others of the class: what it sent of that is not known.
    assert reclassified((part(BULK, 7, 8),), {7: LIVE}) == (AppPart(HERE, LIVE, 1, 0, 0, (7,)), part(BULK, 8))
    assert reclassified((part(LIVE, 7, 8),), {7: DEFAULT}) == (part(LIVE, 8),)
    # One that has a choice of its own, and the others.
    assert reclassified((part(DEFAULT, 7, 8),), {7: LIVE, None: BACKGROUND}) == (
        AppPart(HERE, LIVE, 1, 0, 0, (7,)), AppPart(HERE, BACKGROUND, 1, 0, 0, (8,)),
    )  # fmt: skip


def test_what_was_sent_stays_when_the_connections_have_ended() -> None:
    assert reclassified((part(LIVE),), {7: BULK}) == (part(LIVE),)
    assert reclassified((part(LIVE),), {None: BULK}) == (part(BULK),)


def test_what_is_decided_for_applications_stays_bounded() -> None:
    (many,) = reclassified([part(DEFAULT, *range(2 * APP_UIDS_MAX))], {None: BULK})
    assert many.uids == tuple(range(APP_UIDS_MAX))
    addresses = [bytes([10, 0, 0, number]) for number in range(2 * APP_PARTS_MAX)]
    parts = [part(DEFAULT, 1, address=address) for address in addresses]
    assert len(reclassified(parts, {None: BULK})) == APP_PARTS_MAX


UIDS = st.lists(st.integers(0, 5), unique=True, max_size=4).map(lambda uids: tuple(sorted(uids)))
PARTS = st.lists(
    st.builds(AppPart, st.sampled_from([HERE, THERE]), st.integers(0, 4), st.just(1), st.just(1), st.just(1), UIDS),
    max_size=6, unique_by=lambda part: part[:2],
)  # fmt: skip
CHOSEN = st.dictionaries(st.none() | st.integers(0, 5), st.integers(0, 4), max_size=4)


@given(PARTS, CHOSEN)
def test_every_application_has_its_class_and_nothing_is_counted_twice(
    parts: list[AppPart], chosen: dict[int | None, int]
) -> None:
    made = reclassified(parts, chosen)
    assert len({each[:2] for each in made}) == len(made)
    wanted = {
        (each.address, chosen.get(uid, chosen.get(None, each.application_class)), uid)
        for each in parts
        for uid in each.uids
    }
    assert {(each.address, each.application_class, uid) for each in made for uid in each.uids} == {
        entry for entry in wanted if entry[1] != DEFAULT
    }
    assert sum(each.delivered_bytes for each in made) <= sum(each.delivered_bytes for each in parts)


@given(PARTS)
def test_without_a_choice_everything_is_as_it_was(parts: list[AppPart]) -> None:
    assert sorted(reclassified(parts, {})) == sorted(each for each in parts if each.application_class)
