# SPDX-License-Identifier: Apache-2.0
"""The medium's model with A-MPDUs, compiled for user space, against formulas that were written independently of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from airbound_lab.medium_theory.exchange import SLOT_NS, exchange, single_sender_mbps
from airbound_lab.medium_theory.modulations import LEGACY, MODULATIONS
from airbound_lab.medium_theory.ppdu import (
    MCS_MAX,
    Band,
    Format,
    Rate,
    airtime_ns,
    ht,
    legacy,
    response_rate,
    vht,
)
from airbound_lab.medium_theory.saturation import Senders, saturation

KERNEL = Path(__file__).parents[1] / "kernel"
MODEL = KERNEL / "src/drivers/net/wireless"
FORMATS = {Format.LEGACY: 0, Format.HT: 1, Format.VHT: 2}
PSDU_BYTES = (0, 14, 20, 32, 100, 1536, 3080, 4000, 14_000, 43_120, 64_680, 65_535, 98_560, 1_000_000)
ACCESSES = 50_000
"""About as many are drawn in each cell: of probabilities the standard deviation is below 0.003."""
GHZ = {Band.GHZ_2_4: 2, Band.GHZ_5: 5}
HT65, HT150, HT300 = ht(7), ht(7, 40, short_guard_interval=True), ht(15, 40, short_guard_interval=True)
VHT433, VHT867 = vht(9, short_guard_interval=True), vht(9, 80, 2, short_guard_interval=True)
CELLS = [
    (legacy(54), Band.GHZ_2_4),
    (HT65, Band.GHZ_2_4),
    (HT150, Band.GHZ_2_4),
    (HT300, Band.GHZ_5),
    (VHT433, Band.GHZ_5),
    (VHT867, Band.GHZ_5),
]
NAMES = ["11g 54", "11n 65", "11n 150", "11n 300", "11ac 433", "11ac 867"]


def compiled(folder: Path, test: str) -> Path:
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined,address", "-fno-sanitize-recover"]
    sources = [KERNEL / f"tests/{test}.c", *(MODEL / f"dcf_{name}.c" for name in ("model", "model_fuzz", "error"))]
    subprocess.run(["gcc", *flags, f"-I{MODEL}", "-o", folder / test, *sources], check=True)
    return folder / test


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("medium"), "dcf_model_test")


@pytest.fixture(scope="module")
def arithmetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("medium"), "dcf_ppdu_test")


def rates() -> list[Rate]:
    found = [legacy(mbps) for mbps in LEGACY]
    for form, widths in ((Format.HT, (20, 40)), (Format.VHT, (20, 40, 80))):
        for mcs in range(MCS_MAX[form] + 1):
            for width_mhz in widths:
                if (mcs, width_mhz) == (9, 20):
                    continue
                found += [
                    Rate(form, MODULATIONS[mcs], width_mhz, streams, short)
                    for streams in (1, 2)
                    for short in (False, True)
                ]
    return found


def fields(rate: Rate) -> str:
    mcs = 0 if rate.format is Format.LEGACY else MODULATIONS.index(rate.modulation)
    legacy_100kbps = round(rate.mbps * 10) if rate.format is Format.LEGACY else 0
    short = int(rate.short_guard_interval)
    return f"{FORMATS[rate.format]} {legacy_100kbps} {mcs} {rate.streams} {rate.width_mhz} {short}"


@pytest.mark.parametrize("band", Band)
def test_times_and_rates_are_those_of_the_formulas(arithmetic: Path, band: Band) -> None:
    cases = [(rate, psdu_bytes) for rate in rates() for psdu_bytes in PSDU_BYTES]
    lines = "".join(f"{GHZ[band]} {fields(rate)} {psdu_bytes}\n" for rate, psdu_bytes in cases)
    run = subprocess.run([arithmetic], input=lines, capture_output=True, text=True, check=True)
    for (rate, psdu_bytes), line in zip(cases, run.stdout.splitlines(), strict=True):
        ns, rate_100kbps, control_100kbps, limit_bytes = map(int, line.split())
        assert ns == airtime_ns(rate, psdu_bytes, band), (rate, psdu_bytes)
        assert rate_100kbps == int(rate.mbps * 10), rate
        assert control_100kbps == response_rate(rate).mbps * 10, rate
        limit_ns = 5_484_000 + band.extension_ns
        assert airtime_ns(rate, limit_bytes, band) <= limit_ns < airtime_ns(rate, limit_bytes + 1, band), rate


def measured(program: Path, rate: Rate, band: Band, senders: Senders, *, rts: bool) -> dict[str, float]:
    if rate.format is Format.LEGACY:
        which = f"legacy:{round(rate.mbps * 10)}"
    else:
        which = f"{rate.format.value.lower()}:{MODULATIONS.index(rate.modulation)}"
    loss_ppm = round(senders.mpdu_loss * 1e6)
    which += f":{rate.streams}:{rate.width_mhz}:{int(rate.short_guard_interval)}:{int(rts)}:{loss_ppm}"
    class_words = f"{senders.count}:{senders.cw_min}:{senders.cw_max}:{senders.aifsn}:0"
    access_ns = senders.exchange.success_ns + senders.cw_min * SLOT_NS // 2
    seconds = 1 + ACCESSES * access_ns // 1_000_000_000
    arguments = ["aggregate", str(seconds), "1", str(GHZ[band]), which, class_words]
    run = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    found: list[dict[str, float]] = json.loads(run.stdout)
    return found[0]


@pytest.mark.parametrize("aifsn", [2, 3])
@pytest.mark.parametrize("rts", [False, True])
@pytest.mark.parametrize(("rate", "band"), CELLS, ids=NAMES)
def test_a_single_sender_has_what_arithmetic_says(
    program: Path,
    rate: Rate,
    band: Band,
    aifsn: int,
    rts: bool,  # noqa: FBT001
) -> None:
    single = exchange(rate, band, rts=rts)
    found = measured(program, rate, band, Senders(1, single, aifsn), rts=rts)
    assert found["payload_mbps"] == pytest.approx(single_sender_mbps(single, band, aifsn=aifsn), rel=0.002)


@pytest.mark.parametrize("cw_min", [15, 31, 63, 127])
@pytest.mark.parametrize("count", [1, 2, 5, 10, 20])
@pytest.mark.parametrize("rts", [False, True])
@pytest.mark.parametrize(("rate", "band"), CELLS, ids=NAMES)
def test_saturation_is_that_of_the_model(
    program: Path,
    rate: Rate,
    band: Band,
    rts: bool,  # noqa: FBT001
    count: int,
    cw_min: int,
) -> None:
    senders = Senders(count, exchange(rate, band, rts=rts), cw_min=cw_min)
    found = measured(program, rate, band, senders, rts=rts)
    (bianchis,), (refined,) = saturation(senders, band=band), saturation(senders, band=band, refined=True)
    assert found["payload_mbps"] == pytest.approx(bianchis.payload_mbps, rel=0.03)
    assert found["collision_probability"] == pytest.approx(bianchis.collision_probability, abs=0.025)
    assert found["payload_mbps"] == pytest.approx(refined.payload_mbps, rel=0.012)
    assert found["collision_probability"] == pytest.approx(refined.collision_probability, abs=0.015)


@pytest.mark.parametrize("loss", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("count", [1, 5])
def test_noise_costs_what_is_lost(program: Path, count: int, loss: float) -> None:
    senders = Senders(count, exchange(VHT867, Band.GHZ_5), mpdu_loss=loss)
    (expected,) = saturation(senders, band=Band.GHZ_5, refined=True)
    found = measured(program, VHT867, Band.GHZ_5, senders, rts=False)
    assert found["payload_mbps"] == pytest.approx(expected.payload_mbps, rel=0.01)
