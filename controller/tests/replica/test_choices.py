# SPDX-License-Identifier: Apache-2.0
import pytest

from airbound.core.engine import Engine
from airbound.core.overrides import CellOverride
from airbound.core.parameters import Parameters
from airbound.replica import choices as replica_choices
from airbound.replica.choices import KIND, KeptChoices
from airbound.runtime.choices import Choice
from airbound.runtime.runner import Runner
from airbound.store.memory.store import Memory, MemoryStore
from airbound.store.types import StoreError
from airbound_testing.stores import eventually

MEMORY_NAME = "a"
CELL = bytes([2, 0, 0, 0, 0, 1])


async def store() -> MemoryStore:
    made = MemoryStore(Memory())
    await made.start(MEMORY_NAME, lambda _: None, lambda: None)
    return made


def choices(runner: Runner, kept: MemoryStore, mode: str = "control", exempt: tuple[str, ...] = ()) -> KeptChoices:
    return KeptChoices(runner, kept, mode, exempt, lambda: None, clock_s=lambda: 5.0)  # type: ignore[arg-type]


def runner(mode: str = "control", exempt: tuple[str, ...] = ()) -> Runner:
    return Runner(Engine(Parameters(), mode, exempt))  # type: ignore[arg-type]


async def test_a_choice_counts_after_a_restart() -> None:
    kept = await store()
    before = choices(runner(), kept)
    assert await before.set_mode("observe") == "control"
    assert not await before.set_exempt("192.0.2.7", exempt=True)
    after = runner()
    await choices(after, kept).read()
    assert after.engine.settings.mode == "observe"
    assert after.engine.settings.exempt == {"192.0.2.7"}
    await kept.close()


async def test_a_choice_ends_when_the_file_changes_there() -> None:
    kept = await store()
    before = choices(runner("control", ("a",)), kept, "control", ("a",))
    await before.set_exempt("a", exempt=False)
    await before.set_exempt("b", exempt=True)
    after = runner("control", ("b",))
    await choices(after, kept, "control", ("b",)).read()
    assert after.engine.settings.exempt == {"b"}
    await kept.close()


async def test_what_is_chosen_back_is_kept_no_more() -> None:
    kept = await store()
    mine = choices(runner(), kept)
    await mine.set_mode("observe")
    await mine.set_mode("control")
    await mine.set_exempt("a", exempt=True)
    await mine.set_exempt("a", exempt=False)
    assert await kept.records(KIND) == {}
    await kept.close()


async def test_a_class_counts_on_the_others_and_after_a_restart_until_it_is_ended() -> None:
    kept, here, there = await store(), runner(), runner()
    mine, others = choices(here, kept), choices(there, kept)
    assert await mine.set_class("2001:db8::7", 10073, 1) is None
    assert await mine.set_class("2001:db8::7", None, 4) is None
    assert await mine.set_class("2001:db8::7", 10073, 0) == 1
    await others.read()
    chosen = {("2001:db8::7", 10073): 0, ("2001:db8::7", None): 4}
    assert there.engine.class_choices.all == chosen
    assert there.choices.classes == {
        ("2001:db8::7", 10073): Choice("default", 5.0), ("2001:db8::7", None): Choice("background", 5.0),
    }  # fmt: skip
    assert await others.set_class("2001:db8::7", 10073, None) == 0
    await mine.read()
    assert here.engine.class_choices.all == {("2001:db8::7", None): 4}
    assert await mine.set_class("2001:db8::7", None, None) == 4
    assert await kept.records(KIND) == {}
    await kept.close()


async def test_a_class_that_cannot_be_read_does_not_count() -> None:
    kept, made = await store(), runner()
    good = b'{"chosen": "live", "configured": null, "at": 5}'
    for name, octets in {
        "class:x:phone-17": good, "class:7": good, "class:7:": good, "class:7:phone-17": good,
        "class:8:phone-17": good.replace(b"live", b"lively"), "class:9:phone-17": b"{",
    }.items():  # fmt: skip
        await kept.put(KIND, name, octets)
    await choices(made, kept).read()
    assert made.engine.class_choices.all == {("phone-17", 7): 1}
    await kept.close()


async def test_a_mode_of_one_cell_counts_on_the_others_until_it_is_ended() -> None:
    kept, here, there = await store(), runner(), runner()
    mine, others = choices(here, kept), choices(there, kept)
    assert await mine.set_mode("observe", CELL) == "control"
    await others.read()
    assert (there.mode(CELL), there.mode()) == ("observe", "control")
    assert there.choices.modes_of_cells == {"02:00:00:00:00:01": Choice("observe", 5.0)}
    assert await mine.set_mode("control", CELL) == "observe"
    await others.read()
    assert there.mode(CELL) == "control"
    await mine.set_mode("observe")  # ends that
    await others.read()
    assert (there.mode(CELL), there.engine.modes.of_cells) == ("observe", {})
    await others.set_mode("observe", CELL)
    assert await others.set_mode(None, CELL) == "observe"
    await mine.read()
    assert here.engine.modes.of_cells == {}
    assert await others.set_mode(None) == "observe"
    await mine.read()
    assert (here.mode(), await kept.records(KIND)) == ("control", {})
    await kept.close()


async def test_observe_stands_over_overrides_also_where_the_file_says_observe() -> None:
    override = CellOverride(name="cell.0", bssids=(CELL,), mode="control", parameters=Parameters())
    kept = await store()
    here, there = (Runner(Engine(Parameters(), "observe", (), [override])) for _ in range(2))
    await choices(here, kept, "observe").set_mode("observe")
    await choices(there, kept, "observe").read()
    assert there.mode(CELL) == "observe"
    await choices(here, kept, "observe").set_mode(None)
    await choices(there, kept, "observe").read()
    assert there.mode(CELL) == "control"
    await kept.close()


async def test_the_end_of_an_overrides_exemption_counts_on_the_others() -> None:
    override = CellOverride(name="cell.0", ssids=("*",), exempt=True, parameters=Parameters())
    kept = await store()
    here, there = (Runner(Engine(Parameters(), "control", (), [override])) for _ in range(2))
    await choices(here, kept).set_exempt("02:00:00:00:00:01", exempt=False)
    await choices(there, kept).read()
    assert there.engine.settings.not_exempt == {"02:00:00:00:00:01"}
    assert there.choices.exempt == {"02:00:00:00:00:01": Choice("false", 5.0)}
    await choices(here, kept).set_exempt("02:00:00:00:00:01", exempt=True)
    await choices(there, kept).read()
    assert (there.engine.settings.not_exempt, there.engine.settings.exempt) == (set(), {"02:00:00:00:00:01"})
    await kept.close()


async def test_a_record_that_cannot_be_read_does_not_count() -> None:
    kept = await store()
    for name, octets in (
        ("mode", b"{"),
        ("mode:here", b'{"chosen": "observe", "configured": null, "at": 1}'),
        ("mode:02:00:00:00:00:01", b'{"chosen": "off", "configured": null, "at": 1}'),
        ("exempt:a", b"[]"),
        ("exempt:b", b'{"chosen": true}'),
        ("exempt:c", b'{"chosen": true, "configured": false, "at": "x"}'),
    ):
        await kept.put(KIND, name, octets)
    mine = runner()
    await choices(mine, kept).read()
    assert mine.engine.settings.mode == "control"
    assert not mine.engine.settings.exempt
    assert not mine.engine.modes.of_cells
    await kept.close()


class FullStore(MemoryStore):
    """Takes no record while it is full."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.is_full = True
        self.refused = 0

    def _check(self) -> None:
        if self.is_full:
            self.refused += 1
            raise StoreError("OOM command not allowed when used memory > 'maxmemory'.")

    async def put(self, kind: str, name: str, value: bytes, *, ttl_ms: int = 0) -> None:
        self._check()
        await super().put(kind, name, value, ttl_ms=ttl_ms)

    async def remove(self, kind: str, name: str) -> bool:
        self._check()
        return await super().remove(kind, name)


async def full_store(monkeypatch: pytest.MonkeyPatch) -> FullStore:
    monkeypatch.setattr(replica_choices, "AGAIN_S", 0.001)
    made = FullStore(Memory())
    await made.start(MEMORY_NAME, lambda _: None, lambda: None)
    return made


async def test_a_choice_that_was_not_kept_is_kept_once_the_store_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, here, there, told = await full_store(monkeypatch), runner(), runner(), list[None]()
    mine = KeptChoices(here, kept, "control", (), lambda: told.append(None), clock_s=lambda: 5.0)
    for choose in (mine.set_mode("observe"), mine.set_exempt("a", exempt=True), mine.set_class("b", 7, 1)):
        with pytest.raises(StoreError, match="OOM"):
            await choose
    shown = ['class:7:b "live"', "exempt:a true", 'mode "observe"']
    assert mine.unkept == shown
    await eventually(lambda: kept.refused > 6, "it is tried again")
    await mine.read()  # as after a lost connection: what the store has does not end what it did not take
    assert (here.engine.settings.mode, here.engine.settings.exempt) == ("observe", {"a"})
    assert mine.unkept == shown
    assert told == []
    kept.is_full = False
    await eventually(lambda: mine.unkept == [], "all are kept")
    await choices(there, kept).read()
    assert (there.engine.settings.mode, there.engine.settings.exempt) == ("observe", {"a"})
    assert there.engine.class_choices.all == {("b", 7): 1}
    await eventually(lambda: told != [], "the others read it")
    await kept.close()


async def test_a_choice_that_was_not_ended_in_the_store_is_ended_later(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, here = await full_store(monkeypatch), runner()
    mine = choices(here, kept)
    kept.is_full = False
    await mine.set_mode("observe")
    kept.is_full = True
    with pytest.raises(StoreError):
        await mine.set_mode(None)
    await mine.read()
    assert here.engine.settings.mode == "control"
    kept.is_full = False
    await eventually(lambda: mine.unkept == [], "it is kept")
    assert await kept.records(KIND) == {}
    await kept.close()


async def test_a_later_choice_of_another_replica_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, here, there = await full_store(monkeypatch), runner(), runner()
    mine = choices(here, kept)
    with pytest.raises(StoreError):
        await mine.set_mode("observe", CELL)
    with pytest.raises(StoreError):
        await mine.set_exempt("a", exempt=True)
    kept.is_full = False
    later = KeptChoices(there, kept, "control", (), lambda: None, clock_s=lambda: 6.0)
    await later.set_mode("control", CELL)
    await later.set_mode("observe")
    await eventually(lambda: mine.unkept == [], "it is kept, or dropped")
    await eventually(lambda: here.mode() == "observe", "and what the store has is read")
    assert sorted(await kept.records(KIND)) == ["exempt:a", "mode"]
    await kept.close()
