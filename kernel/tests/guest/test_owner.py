# SPDX-License-Identifier: GPL-2.0
"""Rules by owner, `uid UID MIN MAX`, and by owner and destination, `uid UID dst ADDRESS/LENGTH MIN MAX`."""

from __future__ import annotations

import os
import socket
import tempfile
import time
import unittest

from support import (
    SERVER4,
    SERVER4_OTHER,
    SERVER6,
    Link,
    TcpInfo,
    monitor,
    monitor_of,
    sh,
    statistics,
    user,
    wait_until,
    write_bounds,
)

APP, OTHER_APP = 10073, 10074


class Dialling(unittest.TestCase):
    def setUp(self) -> None:
        self.link = Link()
        self.link.__enter__()
        self.addCleanup(self.link.__exit__)
        self.listener = self.link.listen()

    def dial(self, uid: int, address: str = SERVER4, family: int = socket.AF_INET) -> socket.socket:
        with user(uid):
            sock, _ = self.link.dial(self.listener, address, family=family)
        return sock

    def bounds(self, sock: socket.socket) -> tuple[int, int]:
        row = monitor_of(sock, at="phone")
        return int(row["bound_min_segs"]), int(row["bound_max_segs"])


class Owner(Dialling):
    def test_rules_select_by_owner(self) -> None:
        write_bounds(f"uid {APP} 4 6\n", at="phone")
        for uid, cwnd in ((APP, 6), (OTHER_APP, 10), (0, 10)):
            with self.subTest(uid=uid):
                self.assertEqual(TcpInfo.read(self.dial(uid)).cwnd_segs, cwnd)
                self.assertEqual(TcpInfo.read(self.dial(uid, SERVER6, socket.AF_INET6)).cwnd_segs, cwnd)

    def test_the_smallest_limits_of_all_selectors_apply(self) -> None:
        write_bounds(f"all 8 50\nuid {APP} 4 9\ndst {SERVER4}/32 2 60\n", at="phone")
        for uid, bounds in ((APP, ("2", "9")), (OTHER_APP, ("2", "50"))):
            sock = self.dial(uid)
            row = next(row for row in monitor(at="phone") if row["local"].endswith(f":{sock.getsockname()[1]}"))
            self.assertEqual((row["bound_min_segs"], row["bound_max_segs"]), bounds)
            self.assertEqual(row["uid"], str(uid))

    def test_a_rule_for_the_owner_applies_to_an_existing_connection(self) -> None:
        with user(APP):
            sock, peer = self.link.dial(self.listener)
        self.link.upload(sock, peer)
        wait_until(lambda: TcpInfo.read(sock).cwnd_segs > 40, seconds=5, what="cwnd grows")
        write_bounds(f"uid {OTHER_APP} 2 3\n", at="phone")
        time.sleep(0.5)
        self.assertGreater(TcpInfo.read(sock).cwnd_segs, 3)
        write_bounds(f"uid {APP} 2 3\n", at="phone")
        time.sleep(TcpInfo.read(sock).rtt_us / 1e6 + 0.01)
        self.assertLessEqual(TcpInfo.read(sock).cwnd_segs, 3)

    def test_a_closed_connection_with_data_left_keeps_its_owner(self) -> None:
        write_bounds(f"uid {APP} 2 2\nuid 0 30 40\n", at="phone")
        sock = self.dial(APP)
        port = sock.getsockname()[1]
        sock.setblocking(False)
        sock.send(bytes(500_000))
        sock.close()
        time.sleep(0.5)
        [row] = [row for row in monitor(at="phone") if row["local"].endswith(f":{port}")]
        self.assertGreater(int(row["unsent_bytes"]), 0)
        self.assertEqual((row["uid"], row["cwnd_segs"]), (str(APP), "2"))

    def test_owners_are_user_ids_in_the_user_namespace_of_the_network(self) -> None:
        # UID 0 in the new namespaces is 1000 on the host.
        with tempfile.NamedTemporaryFile("w") as program:
            program.write(
                "import socket\n"
                "open('/proc/net/tcp_cwnd_bounds', 'w').write('uid 0 3 3\\n')\n"
                "listener = socket.create_server(('127.0.0.1', 0))\n"
                "sock = socket.create_connection(listener.getsockname())\n"
                "print(int.from_bytes(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[80:84], 'little'))\n"
            )
            program.flush()
            os.chmod(program.name, 0o644)
            printed = sh(
                # Two calls: the files of the network namespace belong to the user who was root when it was created.
                "setpriv --reuid 1000 --regid 1000 --clear-groups unshare -Ur unshare -n"
                f" sh -c 'ip link set lo up; exec python3 {program.name}'"
            )
        self.assertEqual(printed.strip(), "3")

    def test_a_rule_for_an_unused_uid_matches_nothing(self) -> None:
        write_bounds("uid 4294967294 2 3\n", at="phone")
        self.assertEqual(TcpInfo.read(self.dial(APP)).cwnd_segs, 10)


class OwnerAndDestination(Dialling):
    RULES = (
        f"all 2 60\nuid {APP} 2 50\ndst {SERVER4}/32 2 20\n"
        f"uid {APP} dst 10.9.0.0/24 5 30\nuid {APP} dst {SERVER4}/32 40 80\n"
    )

    def test_the_longest_prefix_of_such_rules_decides_alone(self) -> None:
        write_bounds(self.RULES, at="phone")
        for uid, address, bounds in (
            (APP, SERVER4, (40, 80)),
            (APP, SERVER4_OTHER, (2, 50)),
            (OTHER_APP, SERVER4, (2, 20)),
            (OTHER_APP, SERVER4_OTHER, (2, 60)),
        ):
            with self.subTest(uid=uid, address=address):
                sock = self.dial(uid, address)
                self.assertEqual(self.bounds(sock), bounds)
                self.assertEqual(TcpInfo.read(sock).cwnd_segs, max(10, bounds[0]))
        write_bounds(f"flush\nuid {APP} dst 10.9.0.0/24 5 30\nuid {APP} dst {SERVER4}/32 3 4\nall 50 60\n", at="phone")
        self.assertEqual(self.bounds(self.dial(APP)), (3, 4))

    def test_ipv6_and_ipv4_in_an_ipv6_socket(self) -> None:
        write_bounds(self.RULES + f"uid {APP} dst 2001:db8::/32 33 44\n", at="phone")
        for address, bounds in ((f"::ffff:{SERVER4}", (40, 80)), (SERVER6, (33, 44))):
            with self.subTest(address):
                self.assertEqual(self.bounds(self.dial(APP, address, socket.AF_INET6)), bounds)

    def test_live_and_bulk_of_two_users_to_one_server(self) -> None:
        """With a rule for its app and the server live has its own window, without it that of everybody else there."""
        others, own = f"dst {SERVER4}/32 2 6", f"uid {APP} dst {SERVER4}/32 30 40"
        write_bounds(f"uid {APP} 30 40\n{others}\n", at="phone")
        connections = {}
        for uid in (APP, OTHER_APP):
            with user(uid):
                connections[uid], peer = self.link.dial(self.listener)
            self.link.upload(connections[uid], peer)

        def windows() -> list[tuple[int, int]]:
            """The smallest and the largest window of each in a second."""
            seen: dict[int, list[int]] = {uid: [] for uid in connections}
            for _ in range(50):
                time.sleep(0.02)
                for uid, sock in connections.items():
                    seen[uid].append(TcpInfo.read(sock).cwnd_segs)
            return [(min(seen[uid]), max(seen[uid])) for uid in (APP, OTHER_APP)]

        for _, largest in windows():
            self.assertLessEqual(largest, 6)
        for rule in (own, f"uid {APP} dst {SERVER4}/32 50 60"):
            write_bounds(rule + "\n", at="phone")
            time.sleep(0.2)  # more than a round trip: the rules apply at the next ACK
            least, most = map(int, rule.split()[-2:])
            live, bulk = windows()
            self.assertGreaterEqual(live[0], least)
            self.assertLessEqual(live[1], most)
            self.assertLessEqual(bulk[1], 6)
        counts = statistics(at="phone")
        self.assertGreater(sum(counts[f"uid {APP} dst {SERVER4}/32 50 60"]), 0)
        undecided = f"uid {APP} 30 40"  # matches as well
        time.sleep(1)
        self.assertEqual(statistics(at="phone")[undecided], counts[undecided])
        write_bounds(f"flush\n{others}\n", at="phone")
        time.sleep(0.2)
        for _, largest in windows():
            self.assertLessEqual(largest, 6)

    def test_a_socket_that_gets_another_owner(self) -> None:
        write_bounds(self.RULES, at="phone")
        sock = self.dial(OTHER_APP)
        self.assertEqual(self.bounds(sock), (2, 20))
        os.fchown(sock.fileno(), APP, -1)
        sock.send(b"x")
        self.assertEqual(self.bounds(sock), (2, 20), "until the rules change")
        write_bounds("all 2 61\n", at="phone")
        sock.send(b"x")
        self.assertEqual(self.bounds(sock), (40, 80))


if __name__ == "__main__":
    unittest.main()
