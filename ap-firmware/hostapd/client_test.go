// SPDX-License-Identifier: Apache-2.0

package hostapd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/hostapd/hostapdtest"
)

// dial starts a fake hostapd with these stations and connects to it.
func dial(t *testing.T, stations ...string) (*hostapdtest.Server, *hostapd.Client) {
	t.Helper()
	//nolint:usetesting // the path of t.TempDir outgrows the 108 bytes of a socket's address with the name of the test
	directory, err := os.MkdirTemp("", "hostapd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	path := filepath.Join(directory, "wlan0")
	server, err := hostapdtest.Start(path, "wlan0", stations...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })
	client, err := hostapd.Dial(path, func(err error) { t.Errorf("malformed: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	return server, client
}

func TestAStationThatLeavesDuringTheListHidesNoOther(t *testing.T) {
	t.Parallel()
	all := []string{"02:00:00:00:01:00", "02:00:00:00:01:01", "02:00:00:00:01:02", "02:00:00:00:01:03"}
	server, client := dial(t, all...)
	t.Cleanup(func() { _ = client.Close() })
	server.LeaveWhenListed(2)
	stations, err := client.Stations(t.Context())
	var macs []string
	for _, station := range stations {
		macs = append(macs, station.MAC.String())
	}
	// hostapd's list begins with the latest.
	if err != nil || !slices.Equal(macs, []string{all[1], all[0]}) {
		t.Errorf("%v, %v", macs, err)
	}
	if got := server.Listed(); got != 1 {
		t.Errorf("walked to the end %d times", got)
	}
	for i := range 9 {
		server.JoinSilently(fmt.Sprintf("02:00:00:00:02:0%d", i))
	}
	server.LeaveWhenListed(1000)
	stations, err = client.Stations(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the current station of the list left") {
		t.Errorf("%v, %v", stations, err)
	}
	// Each of eight tries ended with a station that left.
	if left := 2 + 9 - server.Stations(); left != 8 {
		t.Errorf("gave up after %d tries", left)
	}
}

func TestAListThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	server, client := dial(t)
	t.Cleanup(func() { _ = client.Close() })
	const most = 2006
	for i := range most {
		server.JoinSilently(fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8, i&0xff))
	}
	if stations, err := client.Stations(t.Context()); err != nil || len(stations) != most {
		t.Errorf("%d stations, %v", len(stations), err)
	}
	server.JoinSilently("02:00:00:01:00:00")
	stations, err := client.Stations(t.Context())
	if !errors.Is(err, hostapd.ErrMalformed) || !strings.Contains(err.Error(), "more than 2006") || stations != nil {
		t.Errorf("%d stations, %v", len(stations), err)
	}
}

func TestAnswersThatAreNotThoseOfHostapd(t *testing.T) {
	t.Parallel()
	server, client := dial(t)
	t.Cleanup(func() { _ = client.Close() })
	for command, call := range map[string]func(context.Context) error{
		"ATTACH":    client.Attach,
		"PING":      client.Ping,
		"STATUS":    func(ctx context.Context) error { _, err := client.Status(ctx); return err },
		"STA-FIRST": func(ctx context.Context) error { _, err := client.Stations(ctx); return err },
	} {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s: %v", command, err)
		}
		server.Answer(command, "WHAT\n")
		if err := call(t.Context()); !errors.Is(err, hostapd.ErrMalformed) ||
			!strings.Contains(err.Error(), "WHAT") {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestAWaitForAnAnswerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server, client := dial(t)
	t.Cleanup(func() { _ = client.Close() })
	server.Mute()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := client.Ping(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "PING") {
		t.Errorf("%v", err)
	}
	if err := client.Ping(t.Context()); err == nil || err.Error() != "hostapd did not answer PING within 3s" {
		t.Errorf("%v", err)
	}
}

func TestAHostapdThatIsGoneIsNoErrorOfClosing(t *testing.T) {
	t.Parallel()
	for _, writes := range []int{0, 1} {
		server, client := dial(t)
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		for range writes {
			err := client.Ping(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), "send PING to hostapd: write: ") {
				t.Errorf("%v", err)
			}
		}
		if err := client.Close(); err != nil {
			t.Errorf("after %d writes: %v", writes, err)
		}
	}
	server, client := dial(t)
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Errorf("frozen: %v", err)
	}
}
