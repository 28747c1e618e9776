# SPDX-License-Identifier: GPL-2.0
"""/proc/net/tcp_retransmit: connections retransmit when they are asked to, once, and get their windows back."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import threading
import time
import unittest

from history import Entry, recorded
from support import (
    RETRANSMIT,
    SERVER4,
    SERVER4_OTHER,
    SERVER6,
    Link,
    TcpInfo,
    monitor_of,
    namespace,
    refusal,
    retransmit,
    sh,
    user,
    wait_until,
    write_bounds,
)

RTT_MS = 40
# An answer to what was sent at once comes after 41 ms; the receiver may delay it by as much as 200 ms (TCP_DELACK_MAX).
ANSWER_S = 0.260
SILENT_S = 0.120
CONNECTIONS_MAX = 256
LOSS_ALL = "loss 100%"


def asked(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.name == "retransmit"]


def acked_bytes(sock: socket.socket) -> int:
    return int(monitor_of(sock, at="phone")["acked_bytes"])


def expiries(sock: socket.socket) -> int:
    """How often the retransmission timer has expired since the last acknowledgment: tcpi_retransmits."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 3)[2]


class File(unittest.TestCase):
    """Grammar, errors, permissions. No connection waits."""

    def setUp(self) -> None:
        sh("ip netns add empty")
        self.addCleanup(sh, "test ! -e /run/netns/empty || ip netns del empty")

    def test_accepts_the_selectors_of_the_bounds(self) -> None:
        for text in (
            "all\n",
            "dst 10.0.9.1/32 1\n",
            "dst 2001:db8::/32\n",
            "uid 10073 3600000\n",
            "uid 10073 dst 10.0.9.1/32\n",
            "uid 10073 dst 2001:db8::/32 7\n",
            "all\n" * 256,
        ):
            with self.subTest(text[:60]):
                retransmit(text)
                time.sleep(0.1)

    def test_refuses_with_the_documented_error(self) -> None:
        refused: dict[str, list[str | bytes]] = {
            "EINVAL": [
                "",
                "\n",
                "all",
                "all 1",
                "all 1 2\n",
                "all x\n",
                "flush\n",
                "dst 10.0.0.1/24\n",
                "uid root\n",
                "uid 7 dst\n",
                "uid 7 dst 10.0.0.1/24\n",
                "dst 10.0.0.1/32 uid 7\n",
                "all\n\nall\n",
                b"all\0\n",
            ],
            "ERANGE": ["all 0\n", "all 3600001\n"],
            "ENOSPC": ["all\n" * 257],
            "EFBIG": ["all\n" * 6144 + "x", b"\0" * (1 << 20)],
        }
        for error, texts in refused.items():
            for text in texts:
                with self.subTest(error=error, text=text[:60]):
                    self.assertEqual(refusal(text, write=retransmit), error)

    def test_ten_writes_a_second(self) -> None:
        results = [refusal("all\n", at="empty", write=retransmit) for _ in range(12)]
        self.assertEqual(results, ["accepted"] * 10 + ["EAGAIN"] * 2)
        self.assertEqual(refusal("all 0\n", at="empty", write=retransmit), "ERANGE")
        self.assertEqual(refusal("all\n", write=retransmit), "accepted", "another namespace")
        time.sleep(0.1)
        self.assertEqual(refusal("all\n", at="empty", write=retransmit), "accepted")
        self.assertEqual(refusal("all\n", at="empty", write=retransmit), "EAGAIN")

    def test_others_cannot_write_and_nobody_reads(self) -> None:
        for change, error in (
            ("--reuid 1000 --regid 1000 --clear-groups", "Permission denied"),
            ("--bounding-set -net_admin --inh-caps -net_admin", "Operation not permitted"),
        ):
            with self.subTest(change), self.assertRaises(subprocess.CalledProcessError) as caught:
                sh(f"setpriv {change} sh -c 'echo all | tee {RETRANSMIT}'")
            self.assertIn(error, caught.exception.stderr)
        self.assertTrue(os.path.exists("/proc/self/ns/user"), "this test needs a kernel with CONFIG_USER_NS")
        sh(f"unshare --user --map-root-user --net sh -c 'echo all > {RETRANSMIT}'")
        with self.assertRaises(OSError), open(RETRANSMIT) as file:
            file.read()

    def test_a_file_of_a_deleted_namespace(self) -> None:
        with namespace("empty"):
            fd = os.open(RETRANSMIT, os.O_WRONLY)
        self.addCleanup(os.close, fd)
        os.write(fd, b"all\n")
        sh("ip netns del empty")

        def is_gone() -> bool:
            try:
                os.write(fd, b"all\n")
            except BlockingIOError:  # EAGAIN
                return False
            except OSError:
                return True
            return False

        wait_until(is_gone, seconds=60, what="deletion")


class Outage(unittest.TestCase):
    """A link that loses everything for a time. Neighbours' addresses are known, but for IPv6."""

    tcp_only = True

    def setUp(self) -> None:
        self.link = self.new_link()
        self.addCleanup(self.remove_link)

    def remove_link(self) -> None:
        self.link.__exit__()

    def new_link(self) -> Link:
        """A link whose queue adds 120 ms at the most, so that timers expire in a short outage."""
        link = Link(rtt_ms=RTT_MS, limit=200, tcp_only=self.tcp_only)
        link.__enter__()
        self.listener = link.listen()
        return link

    def replace_link(self) -> None:
        """Without the connections of an earlier part of the test."""
        self.link.__exit__()
        self.link = self.new_link()

    def lose_all(self, seconds: float) -> None:
        self.link.shape("phone", LOSS_ALL)
        time.sleep(seconds)
        self.link.shape("phone")

    def upload(self, address: str = SERVER4, *, cc: str = "cubic", family: int = socket.AF_INET) -> socket.socket:
        sock, peer = self.link.dial(self.listener, address, cc=cc, family=family)
        self.link.upload(sock, peer)
        return sock

    def assert_answered(self, sock: socket.socket, before: int) -> None:
        try:
            wait_until(lambda: acked_bytes(sock) > before, seconds=ANSWER_S, what="data is acknowledged")
        except AssertionError as error:
            raise AssertionError(f"{error}: {monitor_of(sock, at='phone')}") from None

    def assert_silent(self, sock: socket.socket, before: int) -> None:
        time.sleep(SILENT_S)
        self.assertEqual(acked_bytes(sock), before)


class Retransmission(Outage):
    def test_after_outages_of_any_length(self) -> None:
        for cc, seconds in itertools.product(("cubic", "bbr", "reno"), (1.5, 3.7, 10, 40)):
            with self.subTest(cc=cc, seconds=seconds):
                self.replace_link()
                sock = self.upload(cc=cc)
                time.sleep(2)
                self.link.shape("phone", LOSS_ALL)
                time.sleep(seconds)
                # What is acknowledged after the beginning starts the timer anew: it may be later than a short outage.
                wait_until(lambda sock=sock: expiries(sock) > 0, seconds=3, what="the timer expires")
                self.link.shape("phone")
                before, waits = acked_bytes(sock), monitor_of(sock, at="phone")
                with recorded("phone") as history:
                    retransmit(at="phone")
                    self.assert_answered(sock, before)
                self.assertEqual(len(asked(history.entries)), 1, f"was asked: {waits}")

    def test_only_connections_that_are_selected(self) -> None:
        with user(10073):
            owned = self.upload()
        near, far = self.upload(), self.upload(SERVER4_OTHER)
        time.sleep(2)
        self.lose_all(10)
        before = {sock: acked_bytes(sock) for sock in (owned, near, far)}
        self.assert_silent(near, before[near])
        retransmit("all\n", at="server")  # another namespace
        retransmit("all\n")
        self.assert_silent(near, before[near])
        retransmit(f"uid 10073 dst {SERVER4_OTHER}/32\nuid 10074 dst {SERVER4}/32\n", at="phone")
        self.assert_silent(owned, before[owned])
        retransmit(f"uid 10073 dst {SERVER4}/32\n", at="phone")
        self.assert_answered(owned, before[owned])
        self.assertEqual([acked_bytes(sock) for sock in (near, far)], [before[near], before[far]])
        retransmit(f"dst {SERVER4_OTHER}/32\n", at="phone")
        self.assert_answered(far, before[far])
        self.assertEqual(acked_bytes(near), before[near])

    def test_a_connection_that_is_being_opened(self) -> None:
        for seconds in (1.5, 3.6, 20):
            with recorded("phone") as history:
                self.link.shape("phone", LOSS_ALL)
                with namespace("phone"):
                    sock = socket.socket()
                self.addCleanup(sock.close)
                sock.setblocking(False)
                sock.connect_ex((SERVER4, self.listener.getsockname()[1]))
                time.sleep(seconds)
                self.link.shape("phone")
                retransmit(f"all {int(seconds * 1000) + 100}\n", at="phone")  # the first SYN was lost a moment later
                wait_until(
                    lambda sock=sock: monitor_of(sock, at="phone")["state"] == "established",
                    seconds=ANSWER_S,
                    what="the connection is open",
                )
                peer, _ = self.listener.accept()
                peer.close()
                self.assertEqual(TcpInfo.read(sock).cwnd_segs, 10)
            self.assertEqual([entry["undone"] for entry in asked(history.entries)], [1])

    def test_a_socket_that_was_closed_with_data_left(self) -> None:
        sock = self.upload()
        time.sleep(2)
        port = sock.getsockname()[1]
        self.link.shape("phone", LOSS_ALL)
        sock.close()
        time.sleep(10)
        self.link.shape("phone")
        with recorded("phone") as history:
            retransmit(at="phone")
            time.sleep(1)
        self.assertEqual([entry.text["local"] for entry in asked(history.entries)], [f"10.9.0.1:{port}"])

    def test_a_connection_that_does_not_wait_is_left_alone(self) -> None:
        self.upload()
        self.link.dial(self.listener)  # idle
        with recorded("phone") as history:
            for _ in range(20):
                time.sleep(0.15)
                retransmit(at="phone")
        self.assertEqual(asked(history.entries), [])

    def test_once_for_each_expiry_of_the_timer(self) -> None:
        sock = self.upload()
        time.sleep(2)
        self.link.shape("phone", LOSS_ALL)
        time.sleep(10)
        with recorded("phone") as history:
            for _ in range(60):
                retransmit("all\n" * 3, at="phone")
                time.sleep(0.1)
        entries = asked(history.entries)
        # The timer is not backed off: it expires, and a write makes the connection retransmit, some 20 times in 6 s.
        self.assertGreater(len(entries), 10)
        for before, after in itertools.pairwise(entries):
            self.assertEqual(after["timeouts"], before["timeouts"] + 1)
            self.assertGreater(after.time_us - before.time_us, 200_000)
        self.assertGreater(TcpInfo.read(sock).retransmits, 2 * len(entries) - 2)

    def test_many_connections_are_done_in_several_writes(self) -> None:
        wanted = CONNECTIONS_MAX + 44
        socks = [self.link.dial(self.listener)[0] for _ in range(wanted)]
        self.link.shape("phone", LOSS_ALL)
        for sock in socks:
            sock.send(b"x" * 1000)
        time.sleep(10)
        with recorded("phone") as history:
            retransmit(at="phone")
            time.sleep(0.01)  # the trace rounds times to microseconds
            first = time.monotonic_ns() // 1000
            retransmit(at="phone")
        entries = asked(history.entries)
        self.assertEqual(len({entry.text["cookie"] for entry in entries}), wanted)
        self.assertEqual(len(entries), wanted)
        self.assertEqual(sum(entry.time_us <= first for entry in entries), CONNECTIONS_MAX)


class BothFamilies(Outage):
    tcp_only = False

    def test_ipv6_and_ipv4_in_an_ipv6_socket(self) -> None:
        socks = [
            self.upload(SERVER6, family=socket.AF_INET6),
            self.upload(f"::ffff:{SERVER4}", family=socket.AF_INET6),
        ]
        time.sleep(2)
        self.lose_all(10)
        before = [acked_bytes(sock) for sock in socks]
        retransmit(f"dst {SERVER6}/128\ndst {SERVER4}/32\n", at="phone")
        for sock, acked in zip(socks, before, strict=True):
            self.assert_answered(sock, acked)


class Window(Outage):
    """The losses of an outage that the write names are no congestion."""

    def after(self, command: str, *, cc: str = "cubic", bounds: str = "") -> tuple[TcpInfo, TcpInfo, list[Entry]]:
        """The state before an outage of 5 s and when the first answer has come after it, and the trace."""
        self.replace_link()
        sock = self.upload(cc=cc)
        wait_until(lambda: TcpInfo.read(sock).cwnd_segs > 60, seconds=5, what="cwnd grows")
        before = TcpInfo.read(sock)
        with recorded("phone") as history:
            self.link.shape("phone", LOSS_ALL)
            time.sleep(5)
            if bounds:
                write_bounds(bounds, at="phone")
            self.link.shape("phone")
            acked = acked_bytes(sock)
            retransmit(command, at="phone")
            self.assert_answered(sock, acked)
            found = TcpInfo.read(sock)
        return before, found, history.entries

    def test_returns_for_the_outage_that_is_named(self) -> None:
        for cc in ("cubic", "reno"):
            with self.subTest(cc):
                before, found, entries = self.after("all 5100\n", cc=cc)
                self.assertGreaterEqual(found.cwnd_segs, before.cwnd_segs)
                [entry] = asked(entries)
                self.assertEqual((entry["undone"], entry["in_flight_segs"]), (1, 1))
                self.assertGreaterEqual(entry["cwnd_segs"], before.cwnd_segs)
                self.assertGreaterEqual(entry["ssthresh_segs"], before.cwnd_segs * 3 // 4)
                undone = [e for e in entries if e.name == "event" and e.text["event"] == "undo"]
                self.assertEqual(len(undone), 1)

    def test_all_that_was_lost_is_sent_within_two_round_trips(self) -> None:
        sock = self.upload()
        wait_until(lambda: TcpInfo.read(sock).cwnd_segs > 60, seconds=5, what="cwnd grows")
        self.link.shape("phone", LOSS_ALL)
        time.sleep(5)
        self.link.shape("phone")
        row = monitor_of(sock, at="phone")
        retransmit("all 5100\n", at="phone")
        wait_until(
            lambda: acked_bytes(sock) >= int(row["acked_bytes"]) + int(row["unacked_bytes"]),
            # two round trips, and what was lost at 20 Mbit/s
            seconds=2 * ANSWER_S + int(row["unacked_bytes"]) * 1.1 * 8 / 20e6,
            what="all that was lost is acknowledged",
        )

    def test_stays_small_without_an_outage_or_if_losses_came_first(self) -> None:
        for command in ("all\n", "all 4000\n"):  # the timer expires within the first second
            with self.subTest(command):
                before, found, entries = self.after(command)
                self.assertLess(found.cwnd_segs, before.cwnd_segs // 4)
                [entry] = asked(entries)
                self.assertEqual((entry["undone"], entry["cwnd_segs"]), (0, 1))

    def test_is_within_the_bounds_in_force(self) -> None:
        _, found, entries = self.after("all 5100\n", bounds="all 5 20\n")
        self.assertLessEqual(found.cwnd_segs, 20)
        [entry] = asked(entries)
        self.assertEqual((entry["undone"], entry["cwnd_segs"], entry["bound_max_segs"]), (1, 20, 20))

    def test_returns_once(self) -> None:
        """A second outage of the same losses leaves the window as it is after a timeout."""
        sock = self.upload()
        wait_until(lambda: TcpInfo.read(sock).cwnd_segs > 60, seconds=5, what="cwnd grows")
        with recorded("phone") as history:
            self.link.shape("phone", LOSS_ALL)
            time.sleep(5)
            retransmit("all 5100\n", at="phone")  # too early
            time.sleep(2)
            retransmit("all 7100\n", at="phone")
        self.assertEqual([entry["undone"] for entry in asked(history.entries)], [1, 0])

    def test_returns_if_the_interface_has_refused_segments(self) -> None:
        """Without carrier it does, as that of a phone that has lost its access point: TCP forgets ssthresh then."""
        sock = self.upload()
        wait_until(lambda: TcpInfo.read(sock).cwnd_segs > 60, seconds=5, what="cwnd grows")
        before = TcpInfo.read(sock)
        with recorded("phone") as history:
            self.link.shape("phone", LOSS_ALL)
            time.sleep(1)
            self.link.cut()
            time.sleep(8)
            self.link.join()
            self.link.shape("phone")
            acked = acked_bytes(sock)
            retransmit("all 9500\n", at="phone")
            self.assert_answered(sock, acked)
        self.assertIn("local_congestion", [e.text["event"] for e in history.entries if e.name == "event"])
        [entry] = asked(history.entries)
        self.assertEqual((entry["undone"], entry["in_flight_segs"]), (1, 1))
        self.assertGreaterEqual(entry["cwnd_segs"], before.cwnd_segs)
        self.assertGreaterEqual(entry["ssthresh_segs"], before.cwnd_segs * 3 // 4)

    def test_what_was_lost_is_sent_if_some_of_it_had_arrived(self) -> None:
        """The last acknowledgments are lost. The answer shows that the first segment had arrived, which TCP without a
        request takes for a sign that all have: it would wait for another timeout.
        """
        sock = self.upload()
        wait_until(lambda: TcpInfo.read(sock).cwnd_segs > 60, seconds=5, what="cwnd grows")
        self.link.shape("server", LOSS_ALL)
        time.sleep(RTT_MS / 2e3)
        self.link.shape("phone", LOSS_ALL)
        time.sleep(5)
        self.link.shape("phone")
        self.link.shape("server")
        row = monitor_of(sock, at="phone")
        retransmit("all 5200\n", at="phone")
        wait_until(
            lambda: acked_bytes(sock) >= int(row["acked_bytes"]) + int(row["unacked_bytes"]),
            seconds=2 * ANSWER_S + int(row["unacked_bytes"]) * 1.1 * 8 / 20e6,  # as above
            what="all that was lost is acknowledged",
        )

    def test_bbr_goes_on_at_its_rate(self) -> None:
        before, _, entries = self.after("all 5100\n", cc="bbr")
        [entry] = asked(entries)
        self.assertEqual(entry["in_flight_segs"], 1)
        self.assertGreater(before.cwnd_segs, 60)


class Concurrency(Outage):
    def test_while_applications_send_and_close(self) -> None:
        """Sockets are owned by user space when the request comes."""
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                refusal("all 1000\nuid 0\n", at="phone", write=retransmit)
                time.sleep(0.11)

        writers = [threading.Thread(target=write) for _ in range(2)]
        for writer in writers:
            writer.start()
        socks = [self.upload() for _ in range(8)]
        for _ in range(5):
            self.lose_all(1.3)
            time.sleep(0.7)
        before = [acked_bytes(sock) for sock in socks]
        time.sleep(3)
        for sock, acked in zip(socks, before, strict=True):
            self.assertGreater(acked_bytes(sock), acked)
        stop.set()
        for writer in writers:
            writer.join()


if __name__ == "__main__":
    unittest.main()
