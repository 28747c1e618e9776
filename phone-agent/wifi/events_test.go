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

// followed follows a kernel until the test ends. What it returns receives once for each change.
func followed(t *testing.T, dial func() (wireless.EventSource, error)) <-chan struct{} {
	t.Helper()
	changes := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		wifi.Follow(ctx, dial, func() { changes <- struct{}{} }, slog.New(slog.NewTextHandler(t.Output(), nil)))
	})
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return changes
}

func await(t *testing.T, changes <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-changes:
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
	for _, command := range []uint8{
		unix.NL80211_CMD_CONNECT, unix.NL80211_CMD_ROAM, unix.NL80211_CMD_DISCONNECT,
	} {
		kernel.Send(command, 3)
		await(t, changes, "an event")
	}
	kernel.Send(unix.NL80211_CMD_ROAM, 0) // Malformed: it may have been a change.
	await(t, changes, "an event that cannot be read")
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
	await(t, changes, "the second socket")
	dialled(t, &kernel, 2)
	kernel.Send(unix.NL80211_CMD_CONNECT, 3)
	await(t, changes, "an event on the second socket")
}

func TestAKernelWithoutEvents(t *testing.T) {
	t.Parallel()
	tried := make(chan struct{}, 100)
	changes := followed(t, func() (wireless.EventSource, error) {
		tried <- struct{}{}
		return nil, errors.New("no nl80211")
	})
	await(t, tried, "the first try")
	await(t, tried, "the second try")
	if len(changes) > 0 {
		t.Error("changed")
	}
}
