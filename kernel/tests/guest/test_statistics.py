# SPDX-License-Identifier: GPL-2.0
"""/proc/net/tcp_cwnd_bounds_stat: how often each rule changes a window."""

from __future__ import annotations

import os
import time
import unittest

from support import SERVER4, STATISTICS, Link, statistics, write_bounds


class Statistics(unittest.TestCase):
    def setUp(self) -> None:
        self.link = Link()
        self.link.__enter__()
        self.addCleanup(self.link.__exit__)
        self.listener = self.link.listen()

    def test_there_is_a_line_per_rule_and_counts_start_at_zero(self) -> None:
        self.assertEqual(statistics(at="phone"), {})
        write_bounds("all 1 65535\ndst 10.9.0.0/16 10 20\nuid 7 3 4\n", at="phone")
        self.assertEqual(
            statistics(at="phone"), {"all 1 65535": (0, 0), "dst 10.9.0.0/16 10 20": (0, 0), "uid 7 3 4": (0, 0)}
        )
        self.assertEqual(statistics(at="server"), {})

    def test_the_first_window_counts_once(self) -> None:
        for rule, counts in (("all 30 40", (1, 0)), ("all 2 5", (0, 1)), ("all 10 10", (0, 0))):
            with self.subTest(rule):
                write_bounds("flush\n", at="phone")
                write_bounds(rule + "\n", at="phone")
                self.link.dial(self.listener)
                self.assertEqual(statistics(at="phone")[rule], counts)

    def test_a_write_counts_for_the_rule_that_sets_the_bound(self) -> None:
        write_bounds(f"all 12 100\ndst {SERVER4}/32 15 20\ndst 10.10.0.0/16 1 1\n", at="phone")
        sock, peer = self.link.dial(self.listener)
        self.link.upload(sock, peer)
        time.sleep(2)
        counts = statistics(at="phone")
        self.assertGreater(counts["all 12 100"][0], 0)  # the initial window is 10 without rules
        self.assertGreater(counts[f"dst {SERVER4}/32 15 20"][1], 10)  # CUBIC alone exceeds 20
        self.assertEqual((counts["all 12 100"][1], counts[f"dst {SERVER4}/32 15 20"][0]), (0, 0))
        self.assertEqual(counts["dst 10.10.0.0/16 1 1"], (0, 0))

    def test_a_selector_keeps_its_counts_when_the_table_is_replaced(self) -> None:
        write_bounds("all 30 40\nuid 7 1 2\n", at="phone")
        self.link.dial(self.listener)
        counts = statistics(at="phone")["all 30 40"]
        self.assertGreater(counts[0], 0)
        write_bounds("flush\ndst 10.0.0.0/8 1 9\nall 5 60\n", at="phone")
        self.assertEqual(statistics(at="phone"), {"dst 10.0.0.0/8 1 9": (0, 0), "all 5 60": counts})
        write_bounds("flush\n", at="phone")
        write_bounds("all 5 60\n", at="phone")
        self.assertEqual(statistics(at="phone"), {"all 5 60": (0, 0)})

    def test_a_full_table_has_a_line_for_each_rule(self) -> None:
        rules = [f"dst 2001:db8:1234:5678:9abc:def0:1234:{i:x}/128 1 65535" for i in range(1, 257)]
        write_bounds("".join(f"{rule}\n" for rule in rules), at="phone")
        self.assertEqual(list(statistics(at="phone")), rules)

    def test_cannot_be_written(self) -> None:
        fd = os.open(STATISTICS, os.O_WRONLY)
        self.addCleanup(os.close, fd)
        with self.assertRaises(OSError):
            os.write(fd, b"flush\n")


if __name__ == "__main__":
    unittest.main()
