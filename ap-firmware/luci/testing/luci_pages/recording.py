# SPDX-License-Identifier: Apache-2.0
"""What a real `airbound-ap status --json` prints in some states: the agent's files are made here, the program reads
them. Recorded once for the pages' tests, so that these need no program; one test compares the records with the program.

Usage: python -m luci_pages.recording PROGRAM
"""

import fcntl
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from luci_pages.router import Output

RECORDED = Path(__file__).parents[1] / "recorded"

# Their values depend on when the program ran, as those of the times of CLOCK_MONOTONIC do. PIDs and versions are those
# of the files.
OF_THE_MOMENT = ("lease_left_ms", "windows_lease_left_ms", "station_flows_lease_left_ms")

Files = dict[str, dict[str, Any]]
"""An agent's files by name; lock if an agent runs."""


def _queue(category: str, aifsn: int, cw_min: int, cw_max: int, txop_limit: int = 0) -> dict[str, Any]:
    return {"category": category, "aifsn": aifsn, "cw_min": cw_min, "cw_max": cw_max, "txop_limit": txop_limit}


# hostapd's defaults.
OWN = [
    _queue("background", 7, 15, 1023),
    _queue("best effort", 3, 15, 63),
    _queue("video", 1, 7, 15, 94),
    _queue("voice", 1, 3, 7, 47),
]
STATIONS = [
    _queue("background", 7, 15, 1023),
    _queue("best effort", 3, 15, 1023),
    _queue("video", 2, 7, 15, 94),
    _queue("voice", 2, 3, 7, 47),
]


# Connections are followed, and none is limited.
FOLLOWED = {
    "generation": 0,
    "limits": 0,
    "stations": 0,
    "lease_ends_monotonic_us": 0,
    "reason": "the controller has not limited windows yet",
    "connections": 31,
    "connections_max": 4096,
    "connections_evicted_total": 0,
    "segments_limited_total": 0,
    "commands_refused_total": 0,
    "sets_applied_total": 0,
    "apply_failures_total": 0,
    "leases_ended_total": 0,
}


# Nothing is sent as video.
AS_THEY_COME = {
    "generation": 0,
    "flows": 0,
    "stations": 0,
    "lease_ends_monotonic_us": 0,
    "reason": "the controller has not set flows yet",
    "packets_marked_total": 0,
    "commands_refused_total": 0,
    "sets_applied_total": 0,
    "apply_failures_total": 0,
    "leases_ended_total": 0,
}


def _state(now_us: int, interface: str, **fields: Any) -> dict[str, Any]:
    return {
        "schema": 2,
        "version": "0.1.0",
        "pid": 2417,
        "written_monotonic_us": now_us - 400_000,
        "stopped": False,
        "controller": "controller.example:50051",
        "connected": True,
        "interface": interface,
        "stations_reported": 0,
        "last_report_us": now_us - 400_000,
        "edca_generation": 0,
        "queues": [],
        "announced": [],
        "own": OWN,
        "own_source": "hostapd's defaults, since no --hostapd-config is given",
        "stations": STATIONS,
        "wmm": True,
        "reason": "the controller has not set EDCA parameters yet",
        "lease_ends_monotonic_us": 0,
        "counters": {
            "commands_refused_total": 0,
            "sets_applied_total": 0,
            "applied_again_total": 0,
            "apply_failures_total": 0,
            "leases_ended_total": 0,
            "own_values_not_restored_total": 0,
            "state_writes_failed_total": 0,
        },
        **fields,
    }


CERTIFICATE = {
    "plain_text": False,
    "id": "spiffe://airbound.example/access-point/attic",
    "not_after": "2026-12-20T12:00:00Z",
    "next_renewal": "2026-12-08T03:20:00Z",
}
BSS_2 = {"bssid": "02:00:00:00:a0:01", "ssid": "Attic", "frequency_mhz": 2437, "band": "2.4 GHz"}
BSS_5 = {"bssid": "02:00:00:00:a1:01", "ssid": "Attic", "frequency_mhz": 5180, "band": "5 GHz"}
UPLOADS = "uploads are 92.0 % of the payload (first needed: 60.0 %)"
SENDERS = "3 active senders"
LIVE_FLOWS = "live flows with the category for video 2"
CHECKED = (
    "airbound 0.1.0 check: carried +58% (+51% to +66%), RTT -95% (-96% to -94%); 2.4 GHz, policy aggregate,"
    " 3.1 senders of 5 stations, 6 pairs of turns of 50 s, 20 s of each not counted"
)
WORTH_IT = "It is worth it here: more is carried, and round trips are shorter."
REFUSED = "the controller refused: the token was used 1 times, as often as it may be (PermissionDenied)"


def _device(last_octet: int, air_percent: float, up_kbps: int, **fields: Any) -> dict[str, Any]:
    return {
        "mac": f"02:00:00:00:01:{last_octet:02x}",
        "addresses": [f"192.168.1.{100 + last_octet}"],
        "signal_dbm": -40 - 2 * last_octet,
        "up_phy_kbps": 144_400,
        "down_phy_kbps": 144_400,
        "up_kbps": up_kbps,
        "down_kbps": 210,
        "air_percent": air_percent,
        "uploads": up_kbps > 0,
        **fields,
    }


# By what they take of the air.
DEVICES = [
    _device(7, 38.2, 7_900, up_phy_kbps=26_000, srtt_us=18_200, min_rtt_us=9_100, limit_bytes=23_360),
    _device(1, 31.4, 22_300, srtt_us=16_400, min_rtt_us=8_700, limit_bytes=46_720),
    _device(2, 12.0, 8_050, srtt_us=15_900, min_rtt_us=8_900),
    _device(3, 0.6, 0, down_kbps=4_100),
    _device(4, 0.0, 0, addresses=[], signal_dbm=None, down_kbps=0),
]
IDLE = [_device(last_octet, 0.1, 0, down_kbps=0) for last_octet in (8, 9, 10)]


def _period(mode: str, upload_seconds: int, carried_kbps: int, rtt_us: int, **fields: Any) -> dict[str, Any]:
    return {
        "mode": mode,
        "upload_seconds": upload_seconds,
        "carried_kbps": carried_kbps,
        "rtt_us": rtt_us,
        "uploaders": 3.1,
        **fields,
    }


def _connected(now_us: int) -> dict[str, Files]:
    lent = {
        "edca_generation": 7,
        "queues": [_queue("background", 9, 15, 1023), _queue("best effort", 5, 15, 63)],
        "reason": UPLOADS,
        "reason_code": "REASON_CODE_UPLOADS",
        "lease_ends_monotonic_us": now_us + 4_600_000,
    }
    limited = {
        **FOLLOWED,
        "generation": 3,
        "limits": 3,
        "stations": 2,
        "lease_ends_monotonic_us": now_us + 3_600_000,
        "reason": SENDERS,
        "segments_limited_total": 81_204,
        "sets_applied_total": 3,
    }
    as_video = {
        **AS_THEY_COME,
        "generation": 4,
        "flows": 2,
        "stations": 1,
        "lease_ends_monotonic_us": now_us + 2_600_000,
        "reason": LIVE_FLOWS,
        "reason_code": "REASON_CODE_LIVE_FLOWS",
        "packets_marked_total": 9_214,
        "sets_applied_total": 4,
    }
    switched_us = now_us - 1_900_000_000
    periods = {
        "mode": "control",
        "before": _period(
            "observe", 610, 24_300, 412_000, began_monotonic_us=now_us - 3_000_000_000, ended_monotonic_us=switched_us
        ),
        "since": _period("control", 1735, 38_900, 17_200, began_monotonic_us=switched_us, uploaders=3.0),
    }
    check = {
        "id": "B1946AC92492D2347C6235B4D2",
        "asked_monotonic_us": now_us - 1_200_000_000,
        "turn": 12,
        "turns": 12,
        "line": CHECKED,
        "verdict": WORTH_IT,
    }
    own = {
        "check": check,
        "stations_reported": len(DEVICES),
        "devices": DEVICES,
        "windows": limited,
        "station_flows": as_video,
        **periods,
    }
    first = _state(now_us, "phy0-ap0", **BSS_2, **lent | own)
    second = _state(
        now_us,
        "phy1-ap0",
        **BSS_5,
        stations_reported=len(IDLE),
        devices=IDLE,
        mode="control",
        since={**_period("control", 0, 0, 0, uploaders=0.0), "began_monotonic_us": switched_us},
        windows=FOLLOWED,
        station_flows=AS_THEY_COME,
    )
    return {
        "phy0-ap0": {"state.json": first, "credentials.json": CERTIFICATE, "lock": {}},
        "phy1-ap0": {"state.json": second, "credentials.json": CERTIFICATE, "lock": {}},
    }


def _without_controller(now_us: int) -> dict[str, Files]:
    wrong = "connect: dial tcp 192.0.2.1:50051: connect: no route to host"
    state = _state(now_us, "phy0-ap0", **BSS_2, connected=False, last_error=wrong, last_report_us=now_us - 754_000_000)
    return {"phy0-ap0": {"state.json": state, "credentials.json": CERTIFICATE, "lock": {}}}


def _token_used(_: int) -> dict[str, Files]:
    failed = {"plain_text": False, "last_error": REFUSED, "last_error_since": "2026-11-22T10:00:00Z"}
    return {"phy0-ap0": {"credentials.json": failed}}


def _stopped(now_us: int) -> dict[str, Files]:
    state = _state(now_us, "phy0-ap0", **BSS_2, stopped=True, connected=False, reason="the agent stopped")
    return {"phy0-ap0": {"state.json": state, "credentials.json": CERTIFICATE}}


def _killed(now_us: int) -> dict[str, Files]:
    files = _connected(now_us)["phy0-ap0"]
    del files["lock"]
    own = {"schema": 1, "agent": "5b0c", "interface": "phy0-ap0", "own": OWN[:2], "lease_ends_monotonic_us": now_us}
    return {"phy0-ap0": {**files, "edca.json": own}}


def _nothing(_: int) -> dict[str, Files]:
    return {}


STATES: dict[str, Callable[[int], dict[str, Files]]] = {
    "connected": _connected,
    "killed": _killed,
    "nothing": _nothing,
    "stopped": _stopped,
    "token-used": _token_used,
    "without-controller": _without_controller,
}


def run(program: Path, state: str) -> Output:
    """Runs the program in one of the states."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as locks:
        for interface, files in STATES[state](time.monotonic_ns() // 1000).items():
            place = Path(directory) / interface
            place.mkdir()
            for name, content in files.items():
                (place / name).write_text(json.dumps(content), encoding="utf-8")
            if "lock" in files:
                lock = locks.enter_context((place / "lock").open("r+"))
                fcntl.lockf(lock, fcntl.LOCK_EX)
        ended = subprocess.run(
            [program, "status", "--json", "--state-dir", directory], capture_output=True, text=True, check=False
        )
    return Output(ended.stdout, ended.returncode, ended.stderr)


def recorded(state: str) -> Output:
    """What was recorded of a state."""
    content = json.loads((RECORDED / f"{state}.json").read_text(encoding="utf-8"))
    return Output(json.dumps(content["stdout"]), content["code"])


def comparable(account: Any) -> Any:
    """The account without what depends on the time."""
    if isinstance(account, list):
        return [comparable(value) for value in account]
    if not isinstance(account, dict):
        return account
    return {
        key: comparable(value) for key, value in account.items() if key not in OF_THE_MOMENT and not key.endswith("_us")
    }


def main() -> None:
    """Records every state."""
    program = Path(sys.argv[1]).resolve()
    for state in STATES:
        ended = run(program, state)
        if ended.stderr:
            raise SystemExit(f"{state}: {ended.stderr}")
        text = json.dumps({"code": ended.code, "stdout": json.loads(ended.stdout)}, indent=2)
        (RECORDED / f"{state}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
