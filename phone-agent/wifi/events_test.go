// SPDX-License-Identifier: Apache-2.0

package wifi_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/wireless"
	"github.com/airbound/airbound/phone-agent/wifi"
	"github.com/airbound/airbound/phone-agent/wifi/wifitest"
)

const timeout = 30 * time.Second

// followed follows a kernel until the test ends. What it returns receives once for each change: who arrived.
func followed(t *testing.T, dial func() (wireless.EventSource, error)) <-chan uint32 {
	t.Helper()
	changes := make(chan uint32, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		logger := slog.New(slog.NewTextHandler(t.Output(), nil))
		wifi.Follow(ctx, dial, func(arrived uint32) { changes <- arrived }, logger)
	})
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return changes
}

func await(t *testing.T, changes <-chan uint32, want uint32, what string) {
	t.Helper()
	select {
	case arrived := <-changes:
		if arrived != want {
			t.Errorf("%s: %d arrived, want %d", what, arrived, want)
		}
	case <-time.After(timeout):
		t.Fatalf("never: %s", what)
	}
}

func dialled(t *testing.T, kernel *wifitest.Kernel, times int) {
	t.Helper()
	for deadline := time.Now().Add(timeout); kernel.Dialled() < times; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d sockets", kernel.Dialled())
		}
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	var kernel wifitest.Kernel
	changes := followed(t, kernel.DialEvents)
	dialled(t, &kernel, 1)
	kernel.Send(unix.NL80211_CMD_NEW_STATION, 3) // No change of a connection.
	for command, arrived := range map[uint8]uint32{
		unix.NL80211_CMD_CONNECT: 3, unix.NL80211_CMD_ROAM: 3, unix.NL80211_CMD_DISCONNECT: 0,
	} {
		kernel.Send(command, 3)
		await(t, changes, arrived, "an event")
	}
	kernel.Send(unix.NL80211_CMD_ROAM, 0) // Malformed: it may have been a change.
	await(t, changes, 0, "an event that cannot be read")
	if len(changes) > 0 {
		t.Errorf("%d changes too many", len(changes))
	}
}

// After lost events anything may have changed.
func TestEventsThatWereLost(t *testing.T) {
	t.Parallel()
	var kernel wifitest.Kernel
	changes := followed(t, kernel.DialEvents)
	dialled(t, &kernel, 1)
	kernel.Fail(unix.ENOBUFS)
	await(t, changes, 0, "the second socket")
	dialled(t, &kernel, 2)
	kernel.Send(unix.NL80211_CMD_CONNECT, 3)
	await(t, changes, 3, "an event on the second socket")
}

func TestAKernelWithoutEvents(t *testing.T) {
	t.Parallel()
	tried := make(chan struct{}, 100)
	changes := followed(t, func() (wireless.EventSource, error) {
		tried <- struct{}{}
		return nil, errors.New("no nl80211")
	})
	for range 2 {
		select {
		case <-tried:
		case <-time.After(timeout):
			t.Fatal("never tried again")
		}
	}
	if len(changes) > 0 {
		t.Error("changed")
	}
}
