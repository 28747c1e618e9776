// SPDX-License-Identifier: Apache-2.0

package arrival

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// record is one of the program's on a little-endian processor.
const (
	record4 = "0a00000b000000000000000000000000" + "0a000401000000000000000000000000" + "78563412" + "409c" + "1389" +
		"0200" + "03" + "02"
	record6 = "fd000000000000000000000000000011" + "fd000004000000000000000000000001" + "01000000" + "0100" + "01bb" +
		"0a00" + "01" + "00"
	mapped = "00000000000000000000ffff0a00000b" + "00000000000000000000ffff0a000401" + "01000000" + "0100" + "01bb" +
		"0a00" + "01" + "01"
	linkLocal = "fe800000000000000000000000000011" + "fe800000000000000000000000000001" + "01000000" + "0100" + "01bb" +
		"0a00" + "01" + "01"
)

func octets(tb testing.TB, text string) []byte {
	tb.Helper()
	read, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return read
}

func TestTheListIsReadAsTheProgramWritesIt(t *testing.T) {
	t.Parallel()
	found, err := parse(octets(t, record4+record6+mapped+linkLocal))
	if err != nil || len(found) != 3 {
		t.Fatalf("%v, %v", found, err)
	}
	want := Connection{
		Local: netip.MustParseAddrPort("10.0.0.11:40000"), Remote: netip.MustParseAddrPort("10.0.4.1:5001"),
		Una: 0x12345678, Retransmits: 3, Backoff: 2,
	}
	if found[0] != want {
		t.Errorf("%+v, not %+v", found[0], want)
	}
	if found[1].Remote != netip.MustParseAddrPort("[fd00:4::1]:443") || found[1].Backoff != 0 {
		t.Errorf("%+v", found[1])
	}
	if found[2].Local != netip.MustParseAddrPort("10.0.0.11:1") {
		t.Errorf("%+v", found[2])
	}
	for _, wrong := range []string{record4[2:], record4 + "00"} {
		if found, err := parse(octets(t, wrong)); err == nil || found != nil {
			t.Errorf("%s: %v", wrong, found)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	list, err := parse(octets(t, record4+record6))
	if err != nil {
		t.Fatal(err)
	}
	// The inner header's checksum: 4500 + 001c + 0000 + 0000 + 4006 + 0a00 + 000b + 0a00 + 0401 = 9d2e, inverted 62d1.
	ipv4 := octets(t, "0301 0000 00000000"+"4500001c 00000000 400662d1 0a00000b 0a000401"+"9c40 1389 12345678")
	got := message(list[0])
	if checksum(got) != 0 {
		t.Errorf("the checksum is wrong: % x", got)
	}
	copy(got[2:4], []byte{0, 0})
	if !bytes.Equal(got, ipv4) {
		t.Errorf("% x\nnot\n% x", got, ipv4)
	}
	ipv6 := octets(t, "0100 0000 00000000"+"60000000 0008 06 40 fd000000000000000000000000000011"+
		"fd000004000000000000000000000001"+"0001 01bb 00000001")
	if got := message(list[1]); !bytes.Equal(got, ipv6) {
		t.Errorf("% x\nnot\n% x", got, ipv6)
	}
}

// FuzzMessage: another implementation of the formats reads what the message quotes.
func FuzzMessage(f *testing.F) {
	f.Add(octets(f, "0a00000b"), octets(f, "0a000401"), uint16(40000), uint16(5001), uint32(0x12345678))
	f.Add(octets(f, "fd000000000000000000000000000011"), octets(f, "fd000004000000000000000000000001"),
		uint16(0), uint16(math.MaxUint16), uint32(math.MaxUint32))
	f.Fuzz(func(t *testing.T, local, remote []byte, localPort, remotePort uint16, una uint32) {
		from, isAddress := netip.AddrFromSlice(local)
		to, isOther := netip.AddrFromSlice(remote)
		if from, to = from.Unmap(), to.Unmap(); !isAddress || !isOther || from.Is4() != to.Is4() {
			return // No kernel lists such a connection.
		}
		text := message(Connection{
			Local: netip.AddrPortFrom(from, localPort), Remote: netip.AddrPortFrom(to, remotePort), Una: una,
		})
		protocol, kind := 58, icmp.Type(ipv6.ICMPTypeDestinationUnreachable)
		if from.Is4() {
			protocol, kind = 1, ipv4.ICMPTypeDestinationUnreachable
			if sum := checksum(text); sum != 0 {
				t.Errorf("the checksum leaves %#x", sum)
			}
		}
		read, err := icmp.ParseMessage(protocol, text)
		if err != nil || read.Type != kind {
			t.Fatalf("%+v, %v", read, err)
		}
		body, isUnreachable := read.Body.(*icmp.DstUnreach)
		if !isUnreachable {
			t.Fatalf("%T", read.Body)
		}
		quoted := body.Data
		if from.Is4() {
			header, err := icmp.ParseIPv4Header(quoted)
			if err != nil || header.Protocol != tcpNumber || header.TotalLen != len(quoted) || read.Code != 1 ||
				!header.Src.Equal(from.AsSlice()) || !header.Dst.Equal(to.AsSlice()) {
				t.Errorf("%v, %v", header, err)
			}
			quoted = quoted[header.Len:]
		} else {
			header, err := ipv6.ParseHeader(quoted)
			if err != nil || header.NextHeader != tcpNumber || read.Code != 0 ||
				header.PayloadLen != len(quoted)-ipv6.HeaderLen ||
				!header.Src.Equal(from.AsSlice()) || !header.Dst.Equal(to.AsSlice()) {
				t.Errorf("%v, %v", header, err)
			}
			quoted = quoted[ipv6.HeaderLen:]
		}
		want := binary.BigEndian.AppendUint16(nil, localPort)
		want = binary.BigEndian.AppendUint16(want, remotePort)
		if want = binary.BigEndian.AppendUint32(want, una); !bytes.Equal(quoted, want) {
			t.Errorf("% x, not % x", quoted, want)
		}
	})
}

// The records of the other program.
const (
	received4 = "0a00000b000000000000000000000000" + "0a000401000000000000000000000000" + "78563412" + "01efcdab" +
		"00efcdab" + "80000000" + "11223344" + "55667788" + "e2040000" + "409c" + "01bb" + "0200" + "03" + "01"
	received6 = "fd000000000000000000000000000011" + "fd000004000000000000000000000001" + "01000000" + "00000000" +
		"feffffff" + "ffff0000" + "00000000" + "00000000" + "01000000" + "0100" + "01bb" + "0a00" + "00" + "00"
	// Of both ends, and what is behind them.
	loopback = "7f000001000000000000000000000000"
	itself   = "0a00000b000000000000000000000000"
	own4     = "01000000" + "00000000" + "feffffff" + "ffff0000" + "00000000" + "00000000" + "01000000" + "0100" +
		"01bb" + "0200" + "00" + "00"
	receivedLoopback  = loopback + loopback + own4
	receivedOwn       = itself + itself + own4
	receivedLinkLocal = "fe800000000000000000000000000011" + "fe800000000000000000000000000001" + "01000000" +
		"00000000" + "feffffff" + "ffff0000" + "00000000" + "00000000" + "01000000" + "0100" + "01bb" + "0a00" +
		"00" + "00"
)

func TestTheListOfDownloadsIsReadAsTheProgramWritesIt(t *testing.T) {
	t.Parallel()
	text := octets(t, received4+receivedLoopback+receivedOwn+receivedLinkLocal+received6)
	found, err := parseReceiving(text, 4*time.Millisecond)
	if err != nil || len(found) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	for i, want := range []Download{
		{
			Local: netip.MustParseAddrPort("10.0.0.11:40000"), Remote: netip.MustParseAddrPort("10.0.4.1:443"),
			// 128 octets from the one before Next on, in units of 8.
			Sequence: 0x12345678, Next: 0xabcdef01, Window: 16, HasTimestamps: true, Timestamp: 0x44332211,
			Echo: 0x88776655, Quiet: 5 * time.Second,
		},
		{
			Local: netip.MustParseAddrPort("[fd00::11]:1"), Remote: netip.MustParseAddrPort("[fd00:4::1]:443"),
			Sequence: 1, Window: math.MaxUint16 - 2, Quiet: 4 * time.Millisecond,
		},
	} {
		if found[i] != want {
			t.Errorf("%+v, not %+v", found[i], want)
		}
	}
	for _, wrong := range []string{received4[2:], received4 + "00"} {
		if found, err := parseReceiving(octets(t, wrong), 1); err == nil || found != nil {
			t.Errorf("%s: %v", wrong, found)
		}
	}
}

func TestTheWindowThatIsAnnounced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		octets uint32
		shift  uint8
		want   uint16
	}{
		{0, 0, 0},
		{math.MaxUint32, 7, 0},
		{1, 7, 1},
		{128, 7, 1},
		{129, 7, 2},
		{65535, 0, 65535},
		{65536, 0, 65535},
		{math.MaxInt32, 14, 65535},
		{math.MaxInt32, 0, 65535},
		{math.MaxInt32 + 1, 14, 0},
	} {
		if got := window(c.octets, c.shift); got != c.want {
			t.Errorf("%d octets, shift %d: %d, not %d", c.octets, c.shift, got, c.want)
		}
	}
}

func TestAcknowledgments(t *testing.T) {
	t.Parallel()
	list, err := parseReceiving(octets(t, received4+received6), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"45000034 00000000 400662b9 0a00000b 0a000401" + "9c40 01bb 12345678 abcdef01 80 10 0010 0000 0000" +
			"0101080a 44332211 88776655",
		"60000000 0014 06 40 fd000000000000000000000000000011 fd000004000000000000000000000001" +
			"0001 01bb 00000001 00000000 50 10 fffd 0000 0000",
	} {
		got := acknowledgment(list[i])
		headerOctets := len(header(list[i].Local.Addr(), list[i].Remote.Addr(), 0))
		segment := got[headerOctets:]
		pseudo := pseudoHeader(list[i].Local.Addr(), list[i].Remote.Addr(), uint16(len(segment)))
		if checksum(append(pseudo, segment...)) != 0 {
			t.Errorf("the checksum is wrong: % x", got)
		}
		copy(segment[16:18], []byte{0, 0})
		if !bytes.Equal(got, octets(t, want)) {
			t.Errorf("% x\nnot\n% x", got, octets(t, want))
		}
	}
}

// FuzzDownloads: whatever the list has, its packets are complete, and another implementation reads their IP headers.
func FuzzDownloads(f *testing.F) {
	for _, seed := range []string{
		received4, received6, receivedLoopback, receivedOwn, receivedLinkLocal, received4 + received6, received4[4:],
	} {
		f.Add(octets(f, seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := parseReceiving(text, 4*time.Millisecond)
		if (err != nil) != (len(text)%receivingBytes != 0) || len(found) > len(text)/receivingBytes {
			t.Errorf("%v, %v", found, err)
		}
		for _, download := range found {
			from, to := download.Local.Addr(), download.Remote.Addr()
			if from.Is4() != to.Is4() {
				continue // No kernel lists such a connection.
			}
			packet := acknowledgment(download)
			var segment []byte
			if from.Is4() {
				header, err := icmp.ParseIPv4Header(packet)
				if err != nil || header.TotalLen != len(packet) || !header.Src.Equal(from.AsSlice()) ||
					!header.Dst.Equal(to.AsSlice()) || checksum(packet[:header.Len]) != 0 {
					t.Fatalf("%v, %v", header, err)
				}
				segment = packet[header.Len:]
			} else {
				header, err := ipv6.ParseHeader(packet)
				if err != nil || header.PayloadLen != len(packet)-ipv6.HeaderLen ||
					!header.Src.Equal(from.AsSlice()) || !header.Dst.Equal(to.AsSlice()) {
					t.Fatalf("%v, %v", header, err)
				}
				segment = packet[ipv6.HeaderLen:]
			}
			if len(segment) != int(segment[12]>>4)*4 || segment[13] != flagACK ||
				binary.BigEndian.Uint32(segment[8:]) != download.Next ||
				checksum(append(pseudoHeader(from, to, uint16(len(segment))), segment...)) != 0 {
				t.Errorf("% x", segment)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{record4, record6, mapped, linkLocal, record4 + record6, record4[4:]} {
		f.Add(octets(f, seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := parse(text)
		if (err != nil) != (len(text)%recordBytes != 0) || len(found) > len(text)/recordBytes {
			t.Errorf("%v, %v", found, err)
		}
		for _, connection := range found {
			if len(message(connection)) == 0 {
				t.Error("no message")
			}
		}
	})
}
