# SPDX-License-Identifier: GPL-2.0
"""/proc/net/tcp_cwnd_bounds as a file: grammar, errors, transactions, permissions, namespaces."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import threading
import unittest

from support import BOUNDS, MONITOR, RETRANSMIT, STATISTICS, namespace, read_bounds, refusal, sh, write_bounds

FULL_TABLE = "".join(f"dst 2001:db8:1234:5678:9abc:def0:1234:{i:x}/128 65535 65535\n" for i in range(1, 257))
LONGEST_TABLE = "".join(
    f"uid 4294967294 dst 2001:db08:1234:5678:200:5efe:111.222.211.{i}/128 65535 65535\n" for i in range(256)
)


class Grammar(unittest.TestCase):
    def setUp(self) -> None:
        write_bounds("flush\n")
        self.addCleanup(write_bounds, "flush\n")

    def test_reads_back_what_was_written(self) -> None:
        for text in (
            "all 1 65535\n",
            "dst 10.0.9.1/32 10 20\n",
            "dst 2001:db8::/32 10 20\n",
            "uid 10073 10 20\n",
            "uid 10073 dst 10.0.9.1/32 10 20\n",
            "uid 10073 dst 2001:db8::/32 10 20\n",
            "all 10 20\ndst 0.0.0.0/0 5 6\ndst ::/0 7 8\ndst 10.1.0.0/16 3 4\n",
        ):
            with self.subTest(text):
                write_bounds("flush\n" + text)
                self.assertEqual(read_bounds(), text)

    def test_setting_a_selector_again_replaces_its_range(self) -> None:
        write_bounds("all 1 2\ndst 10.0.0.0/8 3 4\n")
        write_bounds("all 5 6\n")
        self.assertEqual(read_bounds(), "all 5 6\ndst 10.0.0.0/8 3 4\n")

    def test_an_owner_and_a_destination_are_a_selector_of_their_own(self) -> None:
        rules = "uid 7 1 2\ndst 10.0.0.0/8 3 4\nuid 7 dst 10.0.0.0/8 5 6\nuid 7 dst 10.0.0.0/16 7 8\n"
        write_bounds(rules)
        self.assertEqual(read_bounds(), rules)
        write_bounds("uid 7 dst 10.0.0.0/8 9 10\n")
        self.assertEqual(read_bounds(), rules.replace("5 6", "9 10"))

    def test_refuses_with_the_documented_error_and_changes_nothing(self) -> None:
        write_bounds("all 7 8\n")
        refused: dict[str, list[str | bytes]] = {
            "EINVAL": [
                "",
                "\n",
                "all 1 2",
                "all\n",
                "all 1\n",
                "all 1 2 3\n",
                "all  1 2\n",
                " all 1 2\n",
                "all 1 2 \n",
                "all\t1\t2\n",
                "all 1 2\r\n",
                "all -1 2\n",
                "all +1 2\n",
                "all 0x1 2\n",
                "all one 2\n",
                "ALL 1 2\n",
                "uid 1 2\n",
                "uid root 1 2\n",
                "uid 4294967295 1 2\n",
                "uid 7 dst 1 2\n",
                "uid 7 dst 10.0.0.1/24 1 2\n",
                "uid 7 dst 10.0.0.1/32\n",
                "uid 7  dst 10.0.0.1/32 1 2\n",
                "uid dst 10.0.0.1/32 1 2\n",
                "uid 4294967295 dst 10.0.0.1/32 1 2\n",
                "dst 10.0.0.1/32 uid 7 1 2\n",
                "dst 1 2\n",
                "dst 10.0.0.1 1 2\n",
                "dst 10.0.0.1/33 1 2\n",
                "dst 10.0.0/24 1 2\n",
                "dst 10.0.0.1/24 1 2\n",
                "dst 10.0.0.256/32 1 2\n",
                "dst ::/129 1 2\n",
                "dst 2001:db8::1/64 1 2\n",
                "dst fe80::1%eth0/128 1 2\n",
                "flush all\n",
                "all 1 2\n\nall 1 2\n",
                "# all 1 2\n",
                b"all 1 2\0\n",
                b"\xff\xfe\xfd\n",
                b"all 1 2\n\0",
            ],
            "ERANGE": [
                "all 0 2\n",
                "all 1 65536\n",
                "all 2 1\n",
                "all 1 99999999999999999999\n",
                "dst 10.0.0.1/32 20 10\n",
                "uid 7 dst 10.0.0.1/32 20 10\n",
            ],
            "ENOSPC": [FULL_TABLE, "flush\n" + FULL_TABLE + "all 1 2\n"],
            "EFBIG": ["all 1 2\n" * 3072 + "x", b"\0" * (1 << 20)],
        }
        for error, texts in refused.items():
            for text in texts:
                with self.subTest(error=error, text=text[:60]):
                    self.assertEqual(refusal(text), error)
                    self.assertEqual(read_bounds(), "all 7 8\n")

    def test_one_invalid_line_refuses_the_whole_transaction(self) -> None:
        write_bounds("all 7 8\n")
        for last in ("rubbish\n", "all 9 1\n", "dst 10.0.0.1/99 1 2\n", "all 1 2"):
            with self.subTest(last):
                self.assertIn(refusal("flush\nall 1 2\ndst 10.0.0.0/8 3 4\n" + last), ("EINVAL", "ERANGE"))
                self.assertEqual(read_bounds(), "all 7 8\n")

    def test_a_full_table_fits_in_one_transaction(self) -> None:
        for table in (FULL_TABLE, LONGEST_TABLE):
            write_bounds("flush\n" + table)
            self.assertEqual(read_bounds(), table)
            self.assertEqual(refusal("all 1 2\n"), "ENOSPC")
            write_bounds(table)
            write_bounds("flush\nall 1 2\n")
            self.assertEqual(read_bounds(), "all 1 2\n")

    def test_the_largest_transaction(self) -> None:
        write_bounds("all 1 2\n" * 3072)
        self.assertEqual(read_bounds(), "all 1 2\n")

    def test_reads_in_small_pieces_give_the_same_text(self) -> None:
        write_bounds("flush\n" + FULL_TABLE)
        fd = os.open(BOUNDS, os.O_RDONLY)
        self.addCleanup(os.close, fd)
        self.assertEqual(b"".join(iter(lambda: os.read(fd, 61), b"")).decode(), FULL_TABLE)

    def test_each_write_to_a_descriptor_is_a_transaction(self) -> None:
        fd = os.open(BOUNDS, os.O_WRONLY)
        self.addCleanup(os.close, fd)
        os.write(fd, b"all 1 2\n")
        os.write(fd, b"dst 10.0.0.0/8 3 4\n")
        with self.assertRaises(OSError):
            os.write(fd, b"all 5 6\nall\n")
        os.write(fd, b"all 5 6\n")
        self.assertEqual(read_bounds(), "all 5 6\ndst 10.0.0.0/8 3 4\n")

    def test_readers_see_whole_transactions(self) -> None:
        small, large = "all 1 2\n", "".join(f"dst 10.0.0.{i}/32 3 4\n" for i in range(100))
        torn: list[str] = []
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                text = read_bounds()
                if text not in (small, large):
                    torn.append(text)

        write_bounds("flush\n" + small)
        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for _ in range(100):
            write_bounds("flush\n" + large)
            write_bounds("flush\n" + small)
        done.set()
        for reader in readers:
            reader.join()
        self.assertEqual(torn, [])

    def test_random_bytes_are_refused_or_read_back_as_a_transaction(self) -> None:
        rng = random.Random(20130103)
        starts = ["all", "all 1", "dst 10.0.0.0/8", "dst ::/0 1", "dst 2001:db8::/32 1 2", "flush", "x"]
        starts += ["uid 7", "uid 7 dst 10.0.0.0/8", "uid 7 dst"]
        words = ["1", "2", "0", "65535", "65536", "10.0.0.0/8", "all"]
        accepted = 0
        for _ in range(1500):
            text = "".join(
                " ".join([rng.choice(starts), *rng.choices(words, k=rng.randint(0, 2))]) + rng.choice(["\n", "\n", ""])
                for _ in range(rng.randint(1, 3))
            )
            result = refusal(text)
            self.assertIn(result, ("accepted", "EINVAL", "ERANGE"), text)
            if result == "accepted":
                accepted += 1
                rules = read_bounds()
                write_bounds("flush\n" + rules)
                self.assertEqual(read_bounds(), rules)
        self.assertGreater(accepted, 20)


class Permissions(unittest.TestCase):
    def test_modes(self) -> None:
        for path, mode in ((BOUNDS, 0o600), (STATISTICS, 0o400), (MONITOR, 0o400), (RETRANSMIT, 0o200)):
            status = os.stat(path)
            self.assertEqual(stat.S_IMODE(status.st_mode), mode, path)
            self.assertEqual((status.st_uid, status.st_gid), (0, 0), path)

    def test_other_users_can_neither_read_nor_write(self) -> None:
        for access in (f"cat {BOUNDS}", f"echo all 1 2 > {BOUNDS}", f"cat {STATISTICS}", "cat /proc/net/tcp_monitor"):
            with self.subTest(access), self.assertRaises(subprocess.CalledProcessError) as caught:
                sh(f"setpriv --reuid 1000 --regid 1000 --clear-groups sh -c '{access}'")
            self.assertIn("Permission denied", caught.exception.stderr)
        self.assertEqual(read_bounds(), "")

    def test_root_without_net_admin_cannot_write(self) -> None:
        with self.assertRaises(subprocess.CalledProcessError) as caught:
            sh(f"setpriv --bounding-set -net_admin --inh-caps -net_admin sh -c 'echo all 1 2 | tee {BOUNDS}'")
        self.assertIn("Operation not permitted", caught.exception.stderr)
        self.assertEqual(read_bounds(), "")

    def test_root_of_a_user_namespace_controls_only_its_own_network(self) -> None:
        out = sh(f"unshare --user --map-root-user --net sh -c 'echo all 1 2 > {BOUNDS}; cat {BOUNDS}'")
        self.assertEqual(out, "all 1 2\n")
        self.assertEqual(read_bounds(), "")


class Namespaces(unittest.TestCase):
    def setUp(self) -> None:
        sh("ip netns add one; ip netns add two")
        self.addCleanup(sh, "ip netns del two; test ! -e /run/netns/one || ip netns del one")

    def test_each_namespace_has_its_own_rules(self) -> None:
        write_bounds("all 1 2\n", at="one")
        write_bounds("all 3 4\n", at="two")
        self.assertEqual(read_bounds(at="one"), "all 1 2\n")
        self.assertEqual(read_bounds(at="two"), "all 3 4\n")
        self.assertEqual(read_bounds(), "")
        write_bounds("flush\n", at="one")
        self.assertEqual(read_bounds(at="two"), "all 3 4\n")

    def test_a_new_namespace_has_no_rules(self) -> None:
        write_bounds("all 1 2\n")
        self.addCleanup(write_bounds, "flush\n")
        sh("ip netns del one; ip netns add one")
        self.assertEqual(read_bounds(at="one"), "")

    def test_a_descriptor_keeps_the_namespace_it_was_opened_in(self) -> None:
        with namespace("one"):
            fd = os.open(BOUNDS, os.O_WRONLY)
        self.addCleanup(os.close, fd)
        with namespace("two"):
            os.write(fd, b"all 1 2\n")
        self.assertEqual(read_bounds(at="one"), "all 1 2\n")
        self.assertEqual(read_bounds(at="two"), "")

    def test_rules_are_removed_with_the_namespace(self) -> None:
        for _ in range(30):
            sh("ip netns del one; ip netns add one")
            self.assertEqual(read_bounds(at="one"), "")
            write_bounds(FULL_TABLE, at="one")
            self.assertEqual(read_bounds(at="one"), FULL_TABLE)

    def test_a_descriptor_fails_after_its_namespace_was_deleted(self) -> None:
        with namespace("one"):
            fd = os.open(BOUNDS, os.O_WRONLY)
        self.addCleanup(os.close, fd)
        sh("ip netns del one; sleep 1")
        with self.assertRaises(OSError):
            os.write(fd, b"all 1 2\n")


if __name__ == "__main__":
    unittest.main()
