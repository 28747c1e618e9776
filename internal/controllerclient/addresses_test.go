// SPDX-License-Identifier: Apache-2.0

package controllerclient_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airbound/airbound/internal/controllerclient"
)

// dialled counts connections to each address, and lets some addresses fail or not answer.
type dialled struct {
	connect func(context.Context, string) (net.Conn, error)
	mutex   sync.Mutex
	counts  map[string]int
	silent  map[string]bool
}

func (d *dialled) dial(ctx context.Context, address string) (net.Conn, error) {
	d.mutex.Lock()
	d.counts[address]++
	silent := d.silent[address]
	d.mutex.Unlock()
	if silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return d.connect(ctx, address)
}

func (d *dialled) count(address string) int {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.counts[address]
}

func TestStreamsSpreadOverTheControllersAddresses(t *testing.T) {
	c := newController()
	c.endAtOnce = true
	var addresses []string
	for range 3 {
		address, _ := serve(t, c, "127.0.0.1:0")
		addresses = append(addresses, address)
	}
	seen := &dialled{connect: controllerclient.Dial, counts: map[string]int{}}
	startAgent(t, controllerclient.WithDial(controllerclient.Config{Addresses: addresses}, seen.dial))
	for deadline := time.Now().Add(timeout); ; time.Sleep(backoffMin) {
		if seen.count(addresses[0]) > 0 && seen.count(addresses[1]) > 0 && seen.count(addresses[2]) > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("connections: %v", seen.counts)
		}
	}
}

func TestAnAddressThatFailsOrDoesNotAnswerCostsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		c := newController()
		const alive, dead, silent = "192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1"
		n.serve(t, c, alive)
		seen := &dialled{connect: n.dial, counts: map[string]int{}, silent: map[string]bool{silent: true}}
		for range 100 { // In each, every second time, the one that is alive comes first.
			a := startAgent(t, controllerclient.WithDial(controllerclient.Config{
				Addresses: []string{silent, dead, alive},
			}, seen.dial))
			expect(t, "state", a.states, true)
			a.cancel()
			if err := next(t, "end", a.finished); err != nil {
				t.Fatal(err)
			}
		}
		if seen.count(silent) == 0 || seen.count(dead) == 0 {
			t.Errorf("connections: %v", seen.counts)
		}
	})
}

func TestANameThatCannotBeResolvedCostsNoAttempt(t *testing.T) {
	alive, _ := serve(t, newController(), "127.0.0.1:0")
	conn, err := controllerclient.Connect(t.Context(), []string{"no..name:1", alive}, controllerclient.Dial)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// Without that the log would have a warning for each attempt.
func TestTheErrorOfSeveralAddressesIsTheSameEachTime(t *testing.T) {
	c := newController()
	var addresses []string
	for range 4 {
		address, kill := serve(t, c, "127.0.0.1:0")
		kill()
		addresses = append(addresses, address)
	}
	var texts []string
	for range 10 {
		_, err := controllerclient.Connect(t.Context(), addresses, controllerclient.Dial)
		if err == nil {
			t.Fatal("connected")
		}
		texts = append(texts, err.Error())
	}
	for _, text := range texts {
		if text != texts[0] || strings.Count(text, "connection refused") != 4 || strings.Contains(text, "\n") {
			t.Errorf("%q, then %q", texts[0], text)
		}
	}
}

func TestAConnectionThatComesLateIsClosed(t *testing.T) {
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close() })
	winner, _ := net.Pipe()
	var once sync.Mutex
	started := 0
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		once.Lock()
		started++
		mine := started
		once.Unlock()
		if mine == 1 {
			<-ctx.Done()
			return far, nil // connected in the moment in which it was no longer needed
		}
		return winner, nil
	}
	conn, err := controllerclient.Connect(t.Context(), []string{"127.0.0.1:1", "127.0.0.1:2"}, dial)
	if err != nil || conn != winner {
		t.Fatalf("%v, %v", conn, err)
	}
	if _, err := near.Read(make([]byte, 1)); err == nil {
		t.Error("it was not closed")
	}
}

func TestAddressesThatCannotBeRead(t *testing.T) {
	for address, want := range map[string]string{
		"nowhere": "read the address nowhere", "127.0.0.1:none-such": "read the port of",
		"no..name:1": "resolve no..name",
	} {
		_, err := controllerclient.Connect(t.Context(), []string{address}, controllerclient.Dial)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAZoneIsKept(t *testing.T) {
	var got string
	dial := func(_ context.Context, address string) (net.Conn, error) {
		got = address
		return nil, errors.New("enough")
	}
	_, _ = controllerclient.Connect(t.Context(), []string{"[fe80::1%lo]:7"}, dial)
	if want := netip.MustParseAddrPort("[fe80::1%lo]:7").String(); got != want {
		t.Errorf("dialled %s, want %s", got, want)
	}
}
