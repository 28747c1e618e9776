// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode"
)

// Series is a kind of packets.
type Series uint8

// The series.
const (
	TCPUp Series = iota + 1
	UDPUp
	UDPDown
	seriesEnd
)

// String is the series' name in the table.
func (s Series) String() string {
	names := [seriesEnd]string{TCPUp: "tcp_up", UDPUp: "udp_up", UDPDown: "udp_down"}
	if s >= TCPUp && s < seriesEnd {
		return names[s]
	}
	return fmt.Sprintf("series %d", uint8(s))
}

// packet has two times in us since 1970, of two clocks; absent is of one that has not arrived.
type packet struct {
	sequence          uint64
	phoneUS, serverUS int64
}

const absent = int64(-1 << 63)

// PacketsMax is how many packets of one series a Log notes, 28 hours at 100 ms, and how many events.
const PacketsMax = 1_000_000

type event struct {
	atUS int64
	text string
}

// Log is what a phone has noted of a survey. All times are in us since 1970. It is not safe for use by several
// goroutines.
type Log struct {
	Clock Clock
	// Of the phone's packets the one with the sequence number n is at n-1.
	up     [UDPUp + 1][]packet
	down   []packet
	seen   map[uint32]struct{}
	events []event
	// Duplicates came a second time; Unknown are receipts of packets that were not sent.
	Duplicates, Unknown uint64
	// LeftOut are packets and events beyond PacketsMax.
	LeftOut uint64
}

// clone is a copy to write and to sum up, not to note packets in.
func (l *Log) clone() *Log {
	copied := *l
	for series, packets := range l.up {
		copied.up[series] = slices.Clone(packets)
	}
	copied.down, copied.events = slices.Clone(l.down), slices.Clone(l.events)
	copied.Clock.best, copied.seen = maps.Clone(l.Clock.best), nil
	return &copied
}

// full counts what is left out as there are so many already.
func (l *Log) full(noted int) bool {
	if noted < PacketsMax {
		return false
	}
	l.LeftOut++
	return true
}

// Sent notes a packet of the phone's and returns its sequence number. It is false if the packet is one too many, and
// then it should not be sent.
func (l *Log) Sent(series Series, phoneUS int64) (sequence uint64, noted bool) {
	if l.full(len(l.up[series])) {
		return 0, false
	}
	sequence = uint64(len(l.up[series])) + 1
	l.up[series] = append(l.up[series], packet{sequence, phoneUS, absent})
	return sequence, true
}

// Received notes the receipt of a packet of the phone's.
func (l *Log) Received(receipt Receipt) {
	packets := l.up[receipt.Series]
	switch at := receipt.Sequence - 1; {
	case at >= uint64(len(packets)):
		l.Unknown++
	case packets[at].serverUS != absent:
		l.Duplicates++
	default:
		packets[at].serverUS = receipt.AtUS
	}
}

// ReceivedDown notes a datagram of the server's, and the exchange that it completes. It reports whether the datagram is
// a new one.
func (l *Log) ReceivedDown(datagram Down, phoneUS int64) bool {
	if _, known := l.seen[datagram.Sequence]; known {
		l.Duplicates++
		return false
	}
	if l.full(len(l.down)) {
		return false
	}
	if l.seen == nil {
		l.seen = map[uint32]struct{}{}
	}
	l.seen[datagram.Sequence] = struct{}{}
	l.down = append(l.down, packet{uint64(datagram.Sequence), phoneUS, datagram.SentUS})
	if at := uint64(datagram.Echoed) - 1; at < uint64(len(l.up[UDPUp])) {
		l.Clock.Add(Exchange{
			SentUS: l.up[UDPUp][at].phoneUS, ArrivedUS: datagram.SentUS - int64(datagram.HeldUS),
			AnsweredUS: datagram.SentUS, BackUS: phoneUS,
		})
	}
	return true
}

// Event notes an arrival of the phone's, or anything else of one line.
func (l *Log) Event(phoneUS int64, text string) {
	printable := []rune(text)
	for i, each := range printable {
		if !unicode.IsPrint(each) {
			printable[i] = unicode.ReplacementChar
		}
	}
	if !l.full(len(l.events)) {
		l.events = append(l.events, event{phoneUS, string(printable)})
	}
}

// Summary is a survey in a few numbers. Times are in us; delays are of the packets that came.
type Summary struct {
	Series []SeriesSummary `json:"series"`
	Events int             `json:"events"`
	// What the server's clock shows more than the phone's, by the shortest round trip, and how wrong that may be; null
	// if it is not known, and then no delay is.
	ClockOffsetUS      *int64 `json:"clock_offset_us"`
	ClockUncertaintyUS *int64 `json:"clock_uncertainty_us"`
	Duplicates         uint64 `json:"duplicates"`
	// Receipts and exchanges that cannot be.
	Refused uint64 `json:"refused"`
	// Packets and events beyond PacketsMax.
	LeftOut uint64 `json:"left_out"`
}

// SeriesSummary is of one kind of packets.
type SeriesSummary struct {
	Name string `json:"name"`
	// Sent is of the server's packets the highest number that came: that more were sent is not seen.
	Sent     int `json:"sent"`
	Received int `json:"received"`
	// SilenceUS is the longest time between two arrivals.
	SilenceUS int64 `json:"longest_silence_us"`
	// DelayUS and DelayMaxUS are the median and the longest; null without the clocks' difference.
	DelayUS    *int64 `json:"delay_median_us"`
	DelayMaxUS *int64 `json:"delay_longest_us"`
}

// Summary computes it.
func (l *Log) Summary() Summary {
	made := Summary{
		Events: len(l.events), Duplicates: l.Duplicates, Refused: l.Unknown + l.Clock.Refused, LeftOut: l.LeftOut,
	}
	if estimate, known := l.Clock.Whole(); known {
		made.ClockOffsetUS, made.ClockUncertaintyUS = &estimate.OffsetUS, &estimate.UncertaintyUS
	}
	for series := TCPUp; series < seriesEnd; series++ {
		one := SeriesSummary{Name: series.String()}
		packets := l.down
		if series != UDPDown {
			packets, one.Sent = l.up[series], len(l.up[series])
		}
		var arrivals, delays []int64
		for _, each := range packets {
			if each.serverUS == absent {
				continue
			}
			one.Received++
			at := each.serverUS
			if series == UDPDown {
				at, one.Sent = each.phoneUS, max(one.Sent, int(each.sequence)) //nolint:gosec // it has 32 bits
			}
			arrivals = append(arrivals, at)
			if delayUS, _, known := l.delay(series, each); known {
				delays = append(delays, delayUS)
			}
		}
		slices.Sort(arrivals)
		for i := 1; i < len(arrivals); i++ {
			one.SilenceUS = max(one.SilenceUS, arrivals[i]-arrivals[i-1])
		}
		if len(delays) > 0 {
			slices.Sort(delays)
			one.DelayUS, one.DelayMaxUS = &delays[len(delays)/2], &delays[len(delays)-1]
		}
		made.Series = append(made.Series, one)
	}
	return made
}

func (l *Log) delay(series Series, each packet) (delayUS int64, by Estimate, known bool) {
	by, known = l.Clock.At(each.phoneUS)
	if !known || each.serverUS == absent {
		return 0, by, false
	}
	delayUS = each.serverUS - by.OffsetUS - each.phoneUS
	if series == UDPDown {
		delayUS = -delayUS
	}
	return delayUS, by, true
}

// Columns are the table's.
var Columns = []string{
	"series", "sequence", "phone_unix_us", "server_unix_us", "delay_us", "uncertainty_us", "event",
}

// WriteCSV writes the table: of each packet when it was at the phone, by the phone's clock, when at the server, by the
// server's, and the time between the two; of an event both times, the second by the clocks' difference. What is not
// known is empty, as the server's time of a packet that was lost.
func (l *Log) WriteCSV(to io.Writer) error {
	writer := csv.NewWriter(to)
	if err := writer.Write(Columns); err != nil {
		return err
	}
	for series := TCPUp; series < seriesEnd; series++ {
		packets := l.down
		if series != UDPDown {
			packets = l.up[series]
		}
		for _, each := range packets {
			row := []string{
				series.String(), strconv.FormatUint(each.sequence, 10), number(each.phoneUS), number(each.serverUS),
				"", "", "",
			}
			if delayUS, by, known := l.delay(series, each); known {
				row[4], row[5] = number(delayUS), number(by.UncertaintyUS)
			}
			if err := writer.Write(row); err != nil {
				return err
			}
		}
	}
	for i, each := range l.events {
		row := []string{"event", strconv.Itoa(i + 1), number(each.atUS), "", "", "", each.text}
		if by, known := l.Clock.At(each.atUS); known {
			row[3], row[5] = number(each.atUS+by.OffsetUS), number(by.UncertaintyUS)
		}
		if err := writer.Write(row); err != nil {
			return err
		}
	}
	writer.Flush()
	return writer.Error()
}

func number(value int64) string {
	if value == absent {
		return ""
	}
	return strconv.FormatInt(value, 10)
}
