# SPDX-License-Identifier: Apache-2.0
from airbound.core.engine import Engine
from airbound.core.parameters import Parameters
from airbound.replica.choices import KIND, KeptChoices
from airbound.runtime.runner import Runner
from airbound.store.memory.store import Memory, MemoryStore

MEMORY_NAME = "a"


async def store() -> MemoryStore:
    made = MemoryStore(Memory())
    await made.start(MEMORY_NAME, lambda _: None, lambda: None)
    return made


def choices(runner: Runner, kept: MemoryStore, mode: str = "control", exempt: tuple[str, ...] = ()) -> KeptChoices:
    return KeptChoices(runner, kept, mode, exempt, lambda: None)  # type: ignore[arg-type]


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


async def test_a_record_that_cannot_be_read_does_not_count() -> None:
    kept = await store()
    for name, octets in (("mode", b"{"), ("exempt:a", b"[]"), ("exempt:b", b'{"chosen": true}')):
        await kept.put(KIND, name, octets)
    mine = runner()
    await choices(mine, kept).read()
    assert mine.engine.settings.mode == "control"
    assert not mine.engine.settings.exempt
    await kept.close()
