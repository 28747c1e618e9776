# SPDX-License-Identifier: GPL-2.0
"""/proc/net/tcp_monitor: its format, its agreement with TCP_INFO, and each event counter."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
import unittest

from support import MONITOR, SERVER4, SERVER6, Link, TcpInfo, disconnect, monitor, monitor_of, namespace, wait_until

HEADER = (
    "time_us state local remote uid ca_state cwnd_segs ssthresh_segs bound_min_segs bound_max_segs srtt_us last_rtt_us"
    " min_rtt_us mss_bytes unsent_bytes unacked_bytes rcvq_bytes acked_bytes local_congestion dup_ack sack"
    " fast_retransmit timeout undo"
)
LINE = re.compile(
    r"[0-9]+ (established|syn_sent|syn_recv|fin_wait1|fin_wait2|close_wait|last_ack|closing)"
    r"( ([0-9]+(\.[0-9]+){3}|\[[0-9a-f:]+\]):[0-9]+){2} [0-9]+ (open|disorder|cwr|recovery|loss)( [0-9]+){18}"
)


class Monitor(unittest.TestCase):
    def setUp(self) -> None:
        self.link = Link(rtt_ms=40)
        self.link.__enter__()
        self.addCleanup(self.link.__exit__)
        self.listener = self.link.listen()

    def test_header_and_lines_have_the_documented_format(self) -> None:
        for address, family in ((SERVER4, socket.AF_INET), (SERVER6, socket.AF_INET6)):
            self.link.dial(self.listener, address, family=family)
        with namespace("phone"), open(MONITOR) as file:
            text = file.read()
        self.assertTrue(text.endswith("\n"))
        header, *lines = text.splitlines()
        self.assertEqual(header, HEADER)
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertRegex(line, re.compile(f"^{LINE.pattern}$"))

    def test_addresses(self) -> None:
        for address, family, remote in (
            (SERVER4, socket.AF_INET, f"{SERVER4}:"),
            ("::ffff:" + SERVER4, socket.AF_INET6, f"{SERVER4}:"),
            (SERVER6, socket.AF_INET6, f"[{SERVER6}]:"),
        ):
            with self.subTest(address):
                sock, _ = self.link.dial(self.listener, address, family=family)
                row = monitor_of(sock, at="phone")
                self.assertEqual(row["remote"], f"{remote}{self.listener.getsockname()[1]}")
                self.assertEqual(row["local"].rpartition(":")[2], str(sock.getsockname()[1]))

    def test_a_fresh_connection(self) -> None:
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        sock, _ = self.link.dial(self.listener)
        row = monitor_of(sock, at="phone")
        self.assertEqual(row["state"], "established")
        self.assertEqual(row["ca_state"], "open")
        self.assertEqual(row["ssthresh_segs"], "2147483647")
        self.assertEqual((row["bound_min_segs"], row["bound_max_segs"]), ("0", "0"))
        self.assertEqual((row["unsent_bytes"], row["unacked_bytes"], row["rcvq_bytes"]), ("0", "0", "0"))
        self.assertGreaterEqual(int(row["time_us"]), before)
        self.assertLessEqual(int(row["time_us"]), time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)
        self.assertEqual({row[name] for name in HEADER.split()[-6:]}, {"0"})

    def test_agrees_with_tcp_info(self) -> None:
        sock, peer = self.link.dial(self.listener)
        self.link.upload(sock, peer)
        time.sleep(3)
        row, info = monitor_of(sock, at="phone"), TcpInfo.read(sock)
        self.assertAlmostEqual(int(row["cwnd_segs"]), info.cwnd_segs, delta=3)
        self.assertAlmostEqual(int(row["srtt_us"]), info.rtt_us, delta=info.rtt_us / 10)
        self.assertEqual(int(row["min_rtt_us"]), info.min_rtt_us)
        self.assertGreaterEqual(int(row["last_rtt_us"]), info.min_rtt_us)
        self.assertGreater(int(row["last_rtt_us"]), 40_000)
        self.assertAlmostEqual(int(row["unacked_bytes"]) / int(row["mss_bytes"]), info.unacked_segs, delta=3)
        self.assertGreater(int(row["acked_bytes"]), 2_000_000)
        self.assertGreater(int(row["unsent_bytes"]), 0)

    def test_queues(self) -> None:
        sock, peer = self.link.dial(self.listener)
        sock.send(bytes(1000))
        self.assertEqual(monitor_of(sock, at="phone")["unacked_bytes"], "1000")
        time.sleep(0.2)
        self.assertEqual(monitor_of(sock, at="phone")["unacked_bytes"], "0")
        self.assertEqual(monitor_of(sock, at="phone")["acked_bytes"], "1001")
        [row] = [row for row in monitor(at="server") if row["remote"].endswith(f":{sock.getsockname()[1]}")]
        self.assertEqual(row["rcvq_bytes"], "1000")
        peer.recv(400)
        [row] = [row for row in monitor(at="server") if row["remote"].endswith(f":{sock.getsockname()[1]}")]
        self.assertEqual(row["rcvq_bytes"], "600")
        self.assertEqual(row["acked_bytes"], "0", "the accepting side does not count its SYN")
        sock.shutdown(socket.SHUT_WR)
        self.assertEqual(monitor_of(sock, at="phone")["unacked_bytes"], "1", "a FIN")
        time.sleep(0.2)
        self.assertEqual(monitor_of(sock, at="phone")["acked_bytes"], "1002")

    def test_uid_is_the_owner(self) -> None:
        sock, _ = self.link.dial(self.listener)
        self.assertEqual(monitor_of(sock, at="phone")["uid"], "0")
        os.fchown(sock.fileno(), 10073, -1)
        self.assertEqual(monitor_of(sock, at="phone")["uid"], "10073")

    def test_which_states_have_a_line(self) -> None:
        self.link.shape("server", "loss 100%")
        with namespace("phone"):
            lost = socket.socket()
        self.addCleanup(lost.close)
        lost.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            lost.connect((SERVER4, self.listener.getsockname()[1]))
        [row] = monitor(at="phone")
        self.assertEqual((row["state"], row["last_rtt_us"], row["min_rtt_us"]), ("syn_sent", "0", "0"))
        self.assertEqual(monitor(at="server"), [], "neither the listener nor the request has a line")
        lost.close()
        self.link.shape("server")

        sock, peer = self.link.dial(self.listener)
        sock.shutdown(socket.SHUT_WR)
        self.assertEqual([row["state"] for row in monitor(at="phone")], ["fin_wait1"])
        time.sleep(0.2)
        self.assertEqual([row["state"] for row in monitor(at="phone")], ["fin_wait2"])
        self.assertEqual([row["state"] for row in monitor(at="server")], ["close_wait"])
        peer.shutdown(socket.SHUT_WR)
        self.assertEqual([row["state"] for row in monitor(at="server")], ["last_ack"])
        time.sleep(0.2)
        self.assertEqual(monitor(at="phone"), [], "TIME_WAIT has no line")
        self.assertEqual(monitor(at="server"), [])

    def test_namespaces_see_their_own_connections_only(self) -> None:
        self.link.dial(self.listener)
        self.assertEqual(len(monitor(at="phone")), 1)
        self.assertEqual(len(monitor(at="server")), 1)
        self.assertEqual(monitor(), [])

    def test_many_connections_read_in_small_pieces(self) -> None:
        pairs = [self.link.dial(self.listener) for _ in range(200)]
        with namespace("phone"):
            fd = os.open(MONITOR, os.O_RDONLY)
        self.addCleanup(os.close, fd)
        text = b"".join(iter(lambda: os.read(fd, 333), b"")).decode()
        ports = {line.split()[2].rpartition(":")[2] for line in text.splitlines()[1:]}
        self.assertEqual(ports, {str(sock.getsockname()[1]) for sock, _ in pairs})

    def test_a_reused_socket_starts_with_zero_counts(self) -> None:
        sock, _peer = self.link.dial(self.listener)
        self.link.shape("phone", "loss 100%")
        sock.send(b"x")
        wait_until(lambda: int(monitor_of(sock, at="phone")["timeout"]) > 1, seconds=10, what="timeouts")
        self.assertGreater(int(monitor_of(sock, at="phone")["min_rtt_us"]), 0)
        disconnect(sock)
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            sock.connect((SERVER4, self.listener.getsockname()[1]))
        row = monitor_of(sock, at="phone")
        names = ("state", "timeout", "srtt_us", "last_rtt_us", "min_rtt_us", "acked_bytes")
        self.assertEqual([row[name] for name in names], ["syn_sent", "0", "0", "0", "0", "0"])


class Events(unittest.TestCase):
    """Each counter increases if, and only if, its event occurs."""

    def setUp(self) -> None:
        self.link = Link(rtt_ms=40)
        self.link.__enter__()
        self.addCleanup(self.link.__exit__)
        self.sock, self.peer = self.link.dial(self.link.listen())

    def counts(self) -> dict[str, int]:
        row = monitor_of(self.sock, at="phone")
        return {name: int(row[name]) for name in HEADER.split()[-6:]}

    def test_no_events_without_loss(self) -> None:
        for _ in range(20):
            self.sock.send(bytes(3000))
            time.sleep(0.1)
        self.assertEqual(set(self.counts().values()), {0})

    def test_loss(self) -> None:
        self.link.upload(self.sock, self.peer)
        time.sleep(0.5)
        self.link.shape("phone", "loss 1%")
        time.sleep(5)
        counts = self.counts()
        self.assertGreater(counts["sack"], 10)
        self.assertGreater(counts["dup_ack"], 10)
        self.assertGreater(counts["fast_retransmit"], 1)
        self.assertLess(counts["fast_retransmit"], counts["dup_ack"])
        self.assertEqual(counts["local_congestion"], 0)

    def test_timeout(self) -> None:
        self.link.shape("phone", "loss 100%")
        self.sock.send(b"x")
        time.sleep(1.5)  # 0.24 s, then twice that, and so on
        counts = self.counts()
        self.assertIn(counts["timeout"], (2, 3))
        self.assertEqual({name for name, count in counts.items() if count}, {"timeout"})
        self.assertEqual(monitor_of(self.sock, at="phone")["ca_state"], "loss")

    def test_undo_of_a_spurious_timeout(self) -> None:
        self.link.upload(self.sock, self.peer)
        time.sleep(1)
        # The data is late, not lost: the ACK of the original undoes the reduction.
        self.link.delay("phone", 1500)
        time.sleep(2)
        counts = self.counts()
        self.assertGreater(counts["timeout"], 0)
        self.assertGreater(counts["undo"], 0)

    def test_local_device_congestion(self) -> None:
        with namespace("phone"):
            os.system("tc qdisc replace dev phone0 root netem delay 5ms rate 1mbit limit 5")
        self.link.upload(self.sock, self.peer)
        time.sleep(2)
        self.assertGreater(self.counts()["local_congestion"], 0)


if __name__ == "__main__":
    unittest.main()
