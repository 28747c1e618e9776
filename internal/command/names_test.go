// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"context"
	"encoding/binary"
	"flag"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/command"
)

func TestServersOfNames(t *testing.T) {
	t.Parallel()
	for server, ok := range map[string]bool{
		"192.0.2.1": true, "192.0.2.1:5353": true, "2001:db8::1": true, "[2001:db8::1]:53": true,
		"dns.example": false, "192.0.2.1:": false, "": false, "192.0.2": false,
	} {
		var names command.Names
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		names.Flags(flags)
		if err := flags.Parse([]string{"--dns", server}); err != nil {
			t.Fatal(err)
		}
		err := names.Check()
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "neither an IP address nor ADDR:PORT") {
			t.Errorf("%q: %v", server, err)
		}
	}
}

// nameServer answers each question for an IPv4 address with 192.0.2.7, and for others with none.
func nameServer(t *testing.T) string {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		question := make([]byte, 512)
		for {
			length, from, err := socket.ReadFrom(question)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo(dnsAnswer(question[:length]), from)
		}
	}()
	return socket.LocalAddr().String()
}

// dnsAnswer makes the answer of RFC 1035: the question, and for type A a record that points to the name in it.
func dnsAnswer(question []byte) []byte {
	const header = 12
	end := header
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	end++ // The root.
	answer := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question[header:end+4]...)
	if binary.BigEndian.Uint16(question[end:]) == 1 {
		answer[7] = 1
		answer = append(answer, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7)
	}
	return answer
}

func TestNamesAreResolvedByTheServersThatWereNamed(t *testing.T) {
	t.Parallel()
	// Nothing listens on the first: the second is asked.
	dead, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.Close()
	names := command.Names{Servers: []string{dead.LocalAddr().String(), nameServer(t)}}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	found, err := names.Resolver().LookupNetIP(ctx, "ip4", "c1.airbound.example.")
	if err != nil || len(found) != 1 || found[0].Unmap().String() != "192.0.2.7" {
		t.Errorf("%v, %v", found, err)
	}
}

func TestUnresolvable(t *testing.T) {
	t.Parallel()
	_, err := os.Stat("/etc/resolv.conf")
	none := err != nil
	for addresses, want := range map[string]string{
		"192.0.2.1:1 [2001:db8::1]:1 localhost:1": "", "192.0.2.1:1 c1.example:1": "c1.example",
	} {
		var names command.Names
		if !none {
			want = ""
		}
		if got := names.Unresolvable(strings.Fields(addresses)); got != want {
			t.Errorf("%s: %q", addresses, got)
		}
		names.Servers = []string{"192.0.2.53"}
		if got := names.Unresolvable(strings.Fields(addresses)); got != "" {
			t.Errorf("%s with a server: %q", addresses, got)
		}
	}
}
