# SPDX-License-Identifier: Apache-2.0
"""Whether what a station sends is an upload, or no more than the TCP ACKs of what it downloads; by octets and packets,
which is all that access points and switches count.

A TCP segment without data is an IP packet of 40 octets (IPv4, no options) to 100 (IPv6, the longest TCP header); 52 of
IPv4 with time stamps, 80 with three SACK blocks as well. So a station uploads

- if its packets are longer than 100 octets on average, and
- what they have beyond 52 octets each is at least START_BYTES_PER_S.

It stops below 80 octets or STOP_BYTES_PER_S. A station that downloads uploads as well while its data make the
mean of data and ACKs longer than an ACK: with an ACK for every other segment, from 1.7 % of what it downloads on. ACKs
of QUIC are as short as those of TCP. A game or a call with 50 packets a second of 200 octets has 7 kB/s: that fills no
queue, and is no upload either.

Access points' agents find out the same, to report at once who begins to send or stops. So these are constants of both:
the table in docs/active-senders.md, which the tests of both read.
"""

from dataclasses import dataclass

ACK_BYTES = 52  # of an IPv4 packet that has a TCP header with time stamps and nothing else
START_BYTES_PER_S = 10_000.0
STOP_BYTES_PER_S = 2_000.0
START_PACKET_BYTES = 100
STOP_PACKET_BYTES = 80
LINK_OVERHEAD_BYTES = 34  # 802.11 QoS header (26) and LLC/SNAP (8) in each packet's rx_bytes
INTERVAL_MIN_US = 150_000  # a rate is taken over so long at least: some frames of one of many senders
RECENT_US = 500_000  # what was sent in a shorter time is as if it were sent in so long: no packet alone is an upload
PAUSE_MAX_US = 2_000_000  # a longer one is between two uploads
SILENT_MAX_US = 900_000  # a second, less what the fifth of five looks may come early
PAUSE_FADES = 4


def is_data(octets: float, packets: int, *, sending: bool) -> bool:
    """Whether packets are longer than ACKs on average. `octets` are those of IP; `sending`: they were before."""
    return octets > packets * (STOP_PACKET_BYTES if sending else START_PACKET_BYTES)


def uploads(octets: float, packets: int, elapsed_us: int, *, sending: bool) -> bool:
    """Whether a station uploads that sent so much within a time; arguments as of `is_data`."""
    level = STOP_BYTES_PER_S if sending else START_BYTES_PER_S
    return is_data(octets, packets, sending=sending) and (octets - packets * ACK_BYTES) * 1e6 >= level * elapsed_us


@dataclass(slots=True)
class Pauses:
    """How long a sender pauses: it waits for ACKs, up to an RTT, which is a second where queues are long. It is silent
    once it has sent nothing for a quarter longer than in the longest of its latest pauses.

    Its terminal's reports separate a pause from an end: who has data queued waits for ACKs, and who has none waits for
    no ACK. But a terminal knows of TCP alone, so that a pause with nothing queued may be one as well, if it has made
    such pauses.
    """

    data_at_us: int = 0  # when it sent last
    longest_us: int = 0  # pause, of the latest
    longest_idle_us: int = 0  # of those in which it had nothing queued
    _idle: bool = False  # whether it has nothing queued in this one
    _level: float = 0.0  # octets in a bucket that leaks STOP_BYTES_PER_S: a packet now and then is nothing
    _octets: float = 0.0  # since it was silent
    _upload: bool = False  # whether that was enough to be one, when it sent last

    def take(self, now_us: int, elapsed_us: int, octets: float, *, queues: bool | None = None) -> bool:
        """What it sent within the last `elapsed_us`, and whether it has data queued, if that is known; returns whether
        it is silent.
        """
        if self._has_data(elapsed_us, octets):
            self._paused_for(now_us - elapsed_us - self.data_at_us)
            self.data_at_us, self._idle = now_us, False
            self._octets += octets
            self._upload = self._octets * 1e6 >= START_BYTES_PER_S * RECENT_US
        else:
            self._idle = queues is False
        silent = not self.data_at_us or now_us - self.data_at_us >= self._allowed_us(elapsed_us, queues=queues)
        if silent:
            self._octets = 0.0
        return silent

    def _has_data(self, elapsed_us: int, octets: float) -> bool:
        most = STOP_BYTES_PER_S * RECENT_US / 1e6
        self._level = min(max(self._level - STOP_BYTES_PER_S * elapsed_us / 1e6, 0.0) + octets, most)
        return octets > 0 and self._level >= most

    def _paused_for(self, pause_us: int) -> None:
        if not self._upload or pause_us > PAUSE_MAX_US:
            self.longest_us = self.longest_idle_us = 0
            return
        self.longest_us -= self.longest_us // PAUSE_FADES
        self.longest_idle_us -= self.longest_idle_us // PAUSE_FADES
        if self._idle:
            self.longest_idle_us = max(pause_us, self.longest_idle_us)
        else:
            self.longest_us = max(pause_us, self.longest_us)

    def _allowed_us(self, elapsed_us: int, *, queues: bool | None) -> int:
        if queues:
            return PAUSE_MAX_US
        longest_us = self.longest_us if queues is None else self.longest_idle_us
        return min(longest_us * 5 // 4 + elapsed_us, SILENT_MAX_US)
