# SPDX-License-Identifier: GPL-2.0
"""Rules applied to real connections: at once, in both directions, with every congestion control."""

from __future__ import annotations

import socket
import time
import unittest

from support import (
    CONGESTION_CONTROLS,
    SERVER4,
    SERVER4_OTHER,
    SERVER6,
    Link,
    TcpInfo,
    bbr_cwnd_gain,
    disconnect,
    monitor_of,
    wait_until,
    write_bounds,
)

CA_LOSS = 4


def samples(sock: socket.socket, *, seconds: float, every: float = 0.005) -> list[TcpInfo]:
    taken = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        taken.append(TcpInfo.read(sock))
        time.sleep(every)
    return taken


class Window(unittest.TestCase):
    def link(self, **shape: object) -> Link:
        link = Link(**shape)  # type: ignore[arg-type]
        link.__enter__()
        self.addCleanup(link.__exit__)
        return link

    def assert_within(self, taken: list[TcpInfo], low: int, high: int) -> None:
        self.assertLessEqual(max(info.cwnd_segs for info in taken), high)
        outside_loss = [info.cwnd_segs for info in taken if info.ca_state != CA_LOSS]
        self.assertGreaterEqual(min(outside_loss), low)

    def test_rules_apply_to_an_existing_connection_within_a_round_trip_and_until_flush(self) -> None:
        for cc in CONGESTION_CONTROLS:
            with self.subTest(cc), Link(rtt_ms=40, rate_mbit=40) as link:
                sock, peer = link.dial(link.listen(), cc=cc)
                link.upload(sock, peer)
                wait_until(lambda: TcpInfo.read(sock).cwnd_segs > 60, seconds=5, what="cwnd grows")

                write_bounds("all 10 20\n", at="phone")
                time.sleep(TcpInfo.read(sock).rtt_us / 1e6 + 0.01)
                self.assert_within(samples(sock, seconds=2), 10, 20)

                # An ACK arrives every millisecond; a raised minimum applies at the next one.
                write_bounds("flush\nall 50 60\n", at="phone")
                time.sleep(0.05)
                self.assert_within(samples(sock, seconds=1), 50, 60)

                write_bounds("flush\n", at="phone")
                wait_until(lambda: TcpInfo.read(sock).cwnd_segs > 80, seconds=30, what="cwnd grows again")

    def test_rules_apply_to_a_new_connection_from_its_first_window(self) -> None:
        link = self.link(rtt_ms=100)
        listener = link.listen()
        for rule, cwnd in (("all 3 3\n", 3), ("all 30 40\n", 30), ("all 5 20\n", 10), ("all 2 9\n", 9)):
            with self.subTest(rule):
                write_bounds("flush\n" + rule, at="phone")
                sock, _ = link.dial(listener)
                self.assertEqual(TcpInfo.read(sock).cwnd_segs, cwnd)
                sock.setblocking(False)
                sock.send(bytes(200_000))
                time.sleep(0.05)  # half a round trip: no ACK yet
                self.assertEqual(TcpInfo.read(sock).unacked_segs, cwnd)

    def test_the_passive_side_uses_the_rules_of_its_own_namespace(self) -> None:
        link = self.link(rtt_ms=100)
        write_bounds("all 3 3\n", at="server")
        _, peer = link.dial(link.listen())
        self.assertEqual(TcpInfo.read(peer).cwnd_segs, 3)
        link.upload(peer, _)
        time.sleep(0.2)
        self.assert_within(samples(peer, seconds=1), 3, 3)

    def test_a_reused_socket_drops_the_bounds_of_its_old_destination(self) -> None:
        link = self.link()
        write_bounds("dst 10.9.1.0/24 2 2\n", at="phone")
        sock, _ = link.dial(link.listen(), SERVER4_OTHER)
        self.assertEqual(TcpInfo.read(sock).cwnd_segs, 2)
        disconnect(sock)
        sock.connect((SERVER4, link.listen().getsockname()[1]))
        self.assertEqual(TcpInfo.read(sock).cwnd_segs, 10)

    def test_rules_select_by_destination(self) -> None:
        link = self.link()
        listener = link.listen()
        write_bounds("all 8 50\ndst 10.9.0.2/32 4 6\ndst ::/0 20 30\n", at="phone")
        for address, family, cwnd in (
            (SERVER4, socket.AF_INET, 6),
            (SERVER4_OTHER, socket.AF_INET, 10),
            ("::ffff:" + SERVER4, socket.AF_INET6, 6),
            ("::ffff:" + SERVER4_OTHER, socket.AF_INET6, 10),
            (SERVER6, socket.AF_INET6, 10),
        ):
            with self.subTest(address):
                sock, _ = link.dial(listener, address, family=family)
                self.assertEqual(TcpInfo.read(sock).cwnd_segs, cwnd)
        write_bounds("flush\ndst ::/0 20 30\ndst 0.0.0.0/0 3 4\n", at="phone")
        sock, _ = link.dial(listener, SERVER6, family=socket.AF_INET6)
        self.assertEqual(TcpInfo.read(sock).cwnd_segs, 20)

    def test_rules_apply_to_an_idle_connection_before_its_next_data(self) -> None:
        for cc in CONGESTION_CONTROLS:
            with self.subTest(cc), Link(rtt_ms=100) as link:
                sock, peer = link.dial(link.listen(), cc=cc)
                sock.sendall(bytes(60_000))
                sock.setblocking(False)
                peer.recv(60_000, socket.MSG_WAITALL)
                time.sleep(0.5)
                write_bounds("all 2 3\n", at="phone")
                sock.send(bytes(100_000))
                time.sleep(0.03)
                self.assertEqual(TcpInfo.read(sock).unacked_segs, 3)
                self.assertEqual(TcpInfo.read(sock).cwnd_segs, 3)

    def test_a_sender_stopped_by_a_maximum_sends_when_the_minimum_is_raised(self) -> None:
        link = self.link(rtt_ms=200, rate_mbit=100)
        write_bounds("all 2 2\n", at="phone")
        sock, peer = link.dial(link.listen())
        link.upload(sock, peer)
        time.sleep(1)
        self.assertLessEqual(TcpInfo.read(sock).unacked_segs, 2)
        write_bounds("flush\nall 40 50\n", at="phone")
        time.sleep(0.21)  # the next ACK arrives within a round trip
        self.assertGreaterEqual(TcpInfo.read(sock).unacked_segs, 40)

    def test_only_in_rto_recovery_the_minimum_does_not_apply(self) -> None:
        for cc in CONGESTION_CONTROLS:
            with self.subTest(cc), Link(rtt_ms=40) as link:
                write_bounds("all 10 20\n", at="phone")
                sock, peer = link.dial(link.listen(), cc=cc)
                link.upload(sock, peer)
                time.sleep(1)
                link.shape("phone", "loss 100%")
                wait_until(lambda: TcpInfo.read(sock).ca_state == CA_LOSS, seconds=5, what="a timeout")
                self.assertLess(TcpInfo.read(sock).cwnd_segs, 10)
                link.shape("phone")
                wait_until(lambda: TcpInfo.read(sock).ca_state != CA_LOSS, seconds=20, what="recovery")
                taken = samples(sock, seconds=2)
                self.assert_within(taken, 10, 20)

    def test_bounds_apply_under_loss(self) -> None:
        for cc in CONGESTION_CONTROLS:
            with self.subTest(cc), Link(rtt_ms=40) as link:
                link.shape("phone", "loss 2%")
                write_bounds("all 10 20\n", at="phone")
                sock, peer = link.dial(link.listen(), cc=cc)
                link.upload(sock, peer)
                taken = samples(sock, seconds=10)
                self.assertGreater(taken[-1].retransmits, 10)
                self.assert_within(taken, 10, 20)

    def test_bounds_apply_after_a_change_of_congestion_control(self) -> None:
        link = self.link(rtt_ms=40)
        write_bounds("all 10 20\n", at="phone")
        sock, peer = link.dial(link.listen())
        link.upload(sock, peer)
        for cc in (*CONGESTION_CONTROLS, "dctcp", "cubic"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
            self.assert_within(samples(sock, seconds=1), 10, 20)

    def test_bbr_leaves_probe_rtt_with_a_minimum_above_its_target(self) -> None:
        link = self.link(rtt_ms=40)
        write_bounds("all 20 60\n", at="phone")
        sock, peer = link.dial(link.listen(), cc="bbr")
        link.upload(sock, peer)
        wait_until(lambda: bbr_cwnd_gain(sock) == 256, seconds=15, what="BBR enters PROBE_RTT")
        self.assert_within(samples(sock, seconds=0.1), 20, 60)
        wait_until(lambda: bbr_cwnd_gain(sock) != 256, seconds=2, what="BBR leaves PROBE_RTT")

    def test_an_application_limited_sender_keeps_the_minimum(self) -> None:
        link = self.link(rtt_ms=20)
        write_bounds("all 30 60\n", at="phone")
        sock, peer = link.dial(link.listen())
        for _ in range(40):
            sock.send(b"x")
            self.assertEqual(peer.recv(1), b"x")
            time.sleep(0.3)
            self.assertGreaterEqual(TcpInfo.read(sock).cwnd_segs, 30)

    def test_a_small_receive_window_limits_a_sender_below_the_minimum(self) -> None:
        link = self.link(rtt_ms=40)
        write_bounds("all 200 300\n", at="phone")
        listener = link.listen()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        sock, peer = link.dial(listener)
        link.upload(sock, peer)
        taken = samples(sock, seconds=2)
        self.assert_within(taken, 200, 300)
        self.assertLess(max(info.unacked_segs for info in taken), 30)

    def test_rules_of_another_namespace_have_no_effect(self) -> None:
        link = self.link(rtt_ms=40)
        write_bounds("all 2 3\n", at="server")
        write_bounds("all 2 3\n")
        self.addCleanup(write_bounds, "flush\n")
        sock, peer = link.dial(link.listen())
        link.upload(sock, peer)
        wait_until(lambda: TcpInfo.read(sock).cwnd_segs > 30, seconds=10, what="cwnd grows")

    def test_the_monitor_shows_the_bounds_in_force(self) -> None:
        link = self.link()
        write_bounds("dst 10.9.0.0/16 10 20\nall 5 30\n", at="phone")
        sock, _ = link.dial(link.listen())
        row = monitor_of(sock, at="phone")
        self.assertEqual((row["bound_min_segs"], row["bound_max_segs"], row["cwnd_segs"]), ("5", "20", "10"))


if __name__ == "__main__":
    unittest.main()
