# SPDX-License-Identifier: GPL-2.0
"""Rules by owner: `uid UID MIN MAX`."""

from __future__ import annotations

import os
import socket
import tempfile
import time
import unittest

from support import SERVER4, SERVER6, Link, TcpInfo, monitor, sh, user, wait_until, write_bounds

APP, OTHER_APP = 10073, 10074


class Owner(unittest.TestCase):
    def setUp(self) -> None:
        self.link = Link()
        self.link.__enter__()
        self.addCleanup(self.link.__exit__)
        self.listener = self.link.listen()

    def dial(self, uid: int, address: str = SERVER4, family: int = socket.AF_INET) -> socket.socket:
        with user(uid):
            sock, _ = self.link.dial(self.listener, address, family=family)
        return sock

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


if __name__ == "__main__":
    unittest.main()
