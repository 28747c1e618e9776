# SPDX-License-Identifier: GPL-2.0
"""Invariants of every single write of a window, from the trace instead of samples."""

from __future__ import annotations

import itertools
import socket
import threading
import time
import unittest

from history import Entry, recorded
from support import CONGESTION_CONTROLS, Link, TcpInfo, monitor_of, sh, wait_until, write_bounds

NOT_SET = 2147483647
SO_MAX_PACING_RATE = 47
PACE_BYTES_PER_S = 125_000  # a third of the rate of a window of 10


def windows(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.name == "window"]


def now_us() -> int:
    """CLOCK_MONOTONIC, rounded as the trace rounds it."""
    return (time.monotonic_ns() + 500) // 1000


def bounds(entry: Entry) -> tuple[int, int]:
    return entry["bound_min_segs"], entry["bound_max_segs"]


class Invariants(unittest.TestCase):
    """Each write is within the bounds: of the maximum always, of the minimum except in RTO recovery."""

    def assert_within_bounds(self, entries: list[Entry]) -> int:
        """Check one connection. Returns the number of writes below the minimum, all of them in RTO recovery."""
        timeout, recovering, below_minimum = False, False, 0
        for entry in entries:
            if entry.name == "event":
                timeout |= entry.text["event"] == "timeout"
                continue
            if entry.in_loss:
                recovering = True
            elif recovering:  # not before: a timeout changes ssthresh first, outside of the state
                timeout, recovering = False, False
            if not entry["bound_max_segs"]:
                continue
            self.assertLessEqual(entry["cwnd_segs"], entry["bound_max_segs"], entry)
            if entry["cwnd_segs"] < entry["bound_min_segs"]:
                self.assertTrue(entry.in_loss, entry)
                self.assertTrue(timeout, f"below the minimum without a preceding timeout: {entry}")
                below_minimum += 1
        return below_minimum

    def record(self, cc: str, rtt_ms: int, loss: str, *, seconds: int = 20) -> list[Entry]:
        """One upload whose bounds change: none, narrow, wide, min equal to max, none."""
        with Link(rtt_ms=rtt_ms, rate_mbit=20) as link, recorded("phone") as history:
            link.shape("phone", f"loss {loss}")
            sock, peer = link.dial(link.listen(), cc=cc)
            link.upload(sock, peer)
            for rules in ("", "all 10 20\n", "all 4 300\n", "all 30 30\n", ""):
                write_bounds("flush\n" + rules, at="phone")
                time.sleep(seconds / 5)
        [entries] = history.connections().values()
        return entries

    def test_every_write_of_every_congestion_control_is_within_bounds(self) -> None:
        for cc in CONGESTION_CONTROLS:
            for rtt_ms in (4, 256):
                for loss in ("0%", "1%"):
                    with self.subTest(cc=cc, rtt_ms=rtt_ms, loss=loss):
                        entries = self.record(cc, rtt_ms, loss)
                        self.assert_within_bounds(entries)
                        seen = {bounds(entry) for entry in windows(entries)}
                        self.assertEqual(seen, {(0, 0), (10, 20), (4, 300), (30, 30)})
                        kinds = {entry.text["event"] for entry in entries if entry.name == "event"}
                        if loss != "0%":
                            self.assertIn("fast_retransmit", kinds)

    def test_below_the_minimum_only_after_a_timeout(self) -> None:
        for cc in CONGESTION_CONTROLS:
            with self.subTest(cc), Link(rtt_ms=40) as link, recorded("phone") as history:
                write_bounds("all 10 20\n", at="phone")
                sock, peer = link.dial(link.listen(), cc=cc)
                link.upload(sock, peer)
                for _ in range(3):
                    time.sleep(1)
                    link.shape("phone", "loss 100%")
                    time.sleep(1)
                    link.shape("phone")
                time.sleep(3)
            [entries] = history.connections().values()
            self.assertGreaterEqual(self.assert_within_bounds(entries), 3)

    def test_an_undo_does_not_raise_the_window_above_the_maximum(self) -> None:
        # With a queue of 150 packets round trips stay below 160 ms, so a delay of 600 ms causes a timeout.
        for cc in CONGESTION_CONTROLS:
            with self.subTest(cc), Link(rtt_ms=40, limit=150) as link, recorded("phone") as history:
                sock, peer = link.dial(link.listen(), cc=cc)
                link.upload(sock, peer)
                for _ in range(3):
                    write_bounds("flush\n", at="phone")
                    time.sleep(1)  # the window grows above the later maximum; an undo would restore it
                    link.delay("server", 600)  # late ACKs cause a spurious timeout
                    time.sleep(0.4)
                    write_bounds("all 5 12\n", at="phone")
                    time.sleep(1)
                    link.shape("server")
                    time.sleep(2)
            [entries] = history.connections().values()
            self.assert_within_bounds(entries)
            kinds = [entry.text["event"] for entry in entries if entry.name == "event"]
            self.assertIn("undo", kinds)

    def test_a_paced_connection_keeps_its_rate_and_its_bounds(self) -> None:
        for cc in CONGESTION_CONTROLS:
            with self.subTest(cc), Link(rtt_ms=40) as link, recorded("phone") as history:
                write_bounds("all 10 20\n", at="phone")
                sock, peer = link.dial(link.listen(), cc=cc)
                sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, PACE_BYTES_PER_S)
                link.upload(sock, peer)
                time.sleep(5)
                acked_bytes = int(monitor_of(sock, at="phone")["acked_bytes"])
            [entries] = history.connections().values()
            self.assert_within_bounds(entries)
            self.assertLess(acked_bytes, 5.5 * PACE_BYTES_PER_S)
            self.assertGreater(acked_bytes, 4 * PACE_BYTES_PER_S)


class Changes(unittest.TestCase):
    """Each change of the rules applies to every connection within one round trip: at its next ACK."""

    def test_each_of_a_thousand_changes_applies_within_a_round_trip(self) -> None:
        changes: list[tuple[int, int, int, int]] = []
        with Link(rtt_ms=10, rate_mbit=10) as link, recorded("phone") as history:
            listener = link.listen()
            write_bounds("all 2 9\n", at="phone")
            for cc in CONGESTION_CONTROLS:
                link.upload(*link.dial(listener, cc=cc))
            time.sleep(2)
            for i in range(1000):
                low = 2 + i % 7
                high = low + i % 3
                started_us = now_us()
                write_bounds(f"flush\nall {low} {high}\n", at="phone")
                changes.append((started_us, now_us(), low, high))
                time.sleep(0.1)
        connections = history.connections()
        self.assertEqual(len(connections), len(CONGESTION_CONTROLS))
        for entries in connections.values():
            applied = iter(windows(entries))
            for started_us, done_us, low, high in changes:
                # A connection applies each change once, in order.
                entry = next(e for e in applied if bounds(e) == (low, high) and e.time_us >= started_us)
                # Until the write returns, a segment may be sent under the old rules; its ACK is a round trip later.
                # Both are differences of times in whole microseconds, so each may be off by one.
                self.assertLessEqual(entry.time_us - done_us, entry["last_rtt_us"] + 2, entry)
                self.assertLessEqual(entry["cwnd_segs"], high, entry)
                if not entry.in_loss:
                    self.assertGreaterEqual(entry["cwnd_segs"], low, entry)


class Accuracy(unittest.TestCase):
    """The trace agrees with the socket."""

    def test_one_entry_for_each_change(self) -> None:
        with Link(rtt_ms=40) as link, recorded("phone") as history:
            sock, peer = link.dial(link.listen())
            link.upload(sock, peer)
            wait_until(lambda: TcpInfo.read(sock).cwnd_segs > 40, seconds=5, what="cwnd grows")
            last = TcpInfo.read(sock).cwnd_segs
            self.assertIn(last, range(41, 200))
            local = sock.getsockname()
        self.assertEqual({entry.text["local"] for entry in history.entries}, {f"{local[0]}:{local[1]}"})
        seen = windows(history.entries)
        self.assertEqual((seen[0]["cwnd_segs"], seen[0]["ssthresh_segs"]), (10, NOT_SET))
        # No loss in slow start: each ACK raises the window by one or two segments, and each step is recorded.
        steps = [entry["cwnd_segs"] for entry in seen]
        self.assertLessEqual({after - before for before, after in itertools.pairwise(steps)}, {1, 2})
        self.assertGreaterEqual(steps[-1], last)
        times = [entry.time_us for entry in history.entries]
        self.assertEqual(times, sorted(times))

    def test_each_entry_is_one_write_of_one_value(self) -> None:
        for cc in CONGESTION_CONTROLS:
            with self.subTest(cc), Link(rtt_ms=40) as link, recorded("phone") as history:
                link.shape("phone", "loss 0.2%")
                sock, peer = link.dial(link.listen(), cc=cc)
                link.upload(sock, peer)
                time.sleep(10)
            values = [(entry["cwnd_segs"], entry["ssthresh_segs"]) for entry in windows(history.entries)]
            for before, after in itertools.pairwise(values):
                self.assertEqual(sum(a != b for a, b in zip(before, after, strict=True)), 1, (before, after))
            self.assertGreater(len({ssthresh for _, ssthresh in values}), 1, "a slow start ends")

    def test_the_first_window_is_reported_once_with_its_initial_values(self) -> None:
        """Also with an ssthresh saved from the previous connection (tcp_metrics)."""
        with Link(rtt_ms=40) as link, recorded("phone") as history:
            sh("ip netns exec phone sysctl -qw net.ipv4.tcp_no_ssthresh_metrics_save=0")
            listener = link.listen()
            link.shape("phone", "loss 1%")
            sock, peer = link.dial(listener)
            link.upload(sock, peer)
            time.sleep(5)
            link.shape("phone")
            sock.shutdown(socket.SHUT_WR)
            time.sleep(30)  # until the send buffer is acknowledged
            peer.shutdown(socket.SHUT_WR)
            time.sleep(1)
            write_bounds("all 12 30\n", at="phone")
            link.dial(listener)
        first, second = history.connections().values()
        self.assertEqual((first[0]["cwnd_segs"], first[0]["ssthresh_segs"], bounds(first[0])), (10, NOT_SET, (0, 0)))
        [entry] = second
        self.assertEqual((entry["cwnd_segs"], bounds(entry)), (12, (12, 30)))
        self.assertLess(entry["ssthresh_segs"], NOT_SET)

    def test_the_passive_side_reports_its_first_window(self) -> None:
        with Link() as link, recorded("server") as history:
            listener = link.listen()
            sock, _ = link.dial(listener)
            ends = f"10.9.0.2:{listener.getsockname()[1]}", f"10.9.0.1:{sock.getsockname()[1]}"
        first = history.entries[0]
        self.assertEqual((first.text["local"], first.text["remote"]), ends)
        self.assertEqual({entry["cwnd_segs"] for entry in history.entries}, {10})

    def test_a_lost_syn_is_an_event_before_the_first_window(self) -> None:
        with Link(rtt_ms=40) as link, recorded("phone") as history:
            listener = link.listen()
            link.shape("phone", "loss 100%")
            restore = threading.Timer(0.5, link.shape, ["phone"])
            restore.start()
            link.dial(listener)
            restore.join()
        seen = [(entry.name, entry.text.get("event"), entry["cwnd_segs"]) for entry in history.entries]
        self.assertEqual(seen[-1], ("window", None, 10))
        self.assertIn(("event", "timeout"), {entry[:2] for entry in seen[:-1]})
        self.assertEqual({entry[0] for entry in seen[:-1]}, {"event"})

    def test_the_counts_of_the_monitor_equal_the_events_of_the_trace(self) -> None:
        with Link(rtt_ms=40) as link, recorded("phone") as history:
            link.shape("phone", "loss 3%")
            sock, peer = link.dial(link.listen())
            link.upload(sock, peer)
            time.sleep(10)
            link.shape("phone", "loss 100%")
            time.sleep(2)
            row = monitor_of(sock, at="phone")
        kinds = ("local_congestion", "dup_ack", "sack", "fast_retransmit", "timeout", "undo")
        counted = dict.fromkeys(kinds, 0)
        until_us = int(row["time_us"])
        for entry in history.entries:
            if entry.name == "event" and entry.time_us <= until_us:
                counted[entry.text["event"]] += entry["times"]
        self.assertEqual(counted, {kind: int(row[kind]) for kind in kinds})
        self.assertGreater(counted["fast_retransmit"], 5)
        self.assertGreater(counted["timeout"], 0)

    def test_ipv4_and_ipv6_addresses_owner_and_filter(self) -> None:
        with Link() as link, recorded("phone") as history:
            listener = link.listen()
            sock4, _ = link.dial(listener)
            sock6, _ = link.dial(listener, "2001:db8:9::2", family=socket.AF_INET6)
            mapped, _ = link.dial(listener, "::ffff:10.9.0.2", family=socket.AF_INET6)
            ports = [sock.getsockname()[1] for sock in (sock4, sock6, mapped)]
            to = listener.getsockname()[1]
        ends = [(entries[0].text["local"], entries[0].text["remote"]) for entries in history.connections().values()]
        self.assertEqual(
            ends,  # the server's sockets are in another namespace
            [
                (f"10.9.0.1:{ports[0]}", f"10.9.0.2:{to}"),
                (f"[2001:db8:9::1]:{ports[1]}", f"[2001:db8:9::2]:{to}"),
                (f"10.9.0.1:{ports[2]}", f"10.9.0.2:{to}"),
            ],
        )


if __name__ == "__main__":
    unittest.main()
