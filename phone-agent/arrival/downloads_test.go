// SPDX-License-Identifier: Apache-2.0

package arrival_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/arrival"
)

// fakeServers lists downloads and keeps what was sent about them, by their ports.
type fakeServers struct {
	downloads []arrival.Download
	errOfList error
	// errs are those of the next messages.
	errs              []error
	acknowledged, rfc []uint16
	closed            bool
}

func (f *fakeServers) Receiving() ([]arrival.Download, error) {
	return slices.Clone(f.downloads), f.errOfList
}

func (f *fakeServers) Acknowledge(download arrival.Download) error {
	if err := next(&f.errs); err != nil {
		return err
	}
	f.acknowledged = append(f.acknowledged, download.Local.Port())
	return nil
}

func (f *fakeServers) Unreachable(download arrival.Download) error {
	if err := next(&f.errs); err != nil {
		return err
	}
	f.rfc = append(f.rfc, download.Local.Port())
	return nil
}

func (f *fakeServers) Close() error {
	f.closed = true
	return nil
}

func (f *fakeServers) forget() { f.acknowledged, f.rfc = nil, nil }

func quiet(port uint16, since time.Duration) arrival.Download {
	return arrival.Download{
		Local:  netip.AddrPortFrom(netip.MustParseAddr("10.0.0.11"), port),
		Remote: netip.MustParseAddrPort("10.0.4.1:443"), Next: 7, Quiet: since,
	}
}

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func TestServersOfDownloadsThatHaveStoppedAreAsked(t *testing.T) {
	t.Parallel()
	servers := &fakeServers{downloads: []arrival.Download{
		quiet(1, 0), quiet(2, 199*time.Millisecond), quiet(3, 5*time.Second), quiet(4, 200*time.Millisecond),
		quiet(5, 14*time.Second), quiet(6, 14*time.Second+time.Millisecond), quiet(7, time.Hour),
	}}
	downloads := arrival.NewDownloads(servers)
	outcome, err := downloads.Arrived(noon, 4*time.Second)
	// 0.2 s: one doubling; 5 s: after 0.2, 0.6, 1.4 and 3 s; 14 s: after 6.2 and 12.6 s as well. And one more each.
	if want := (arrival.DownloadsOutcome{Silent: 3, Messages: 3 + 2 + 5 + 7}); err != nil || outcome != want {
		t.Errorf("%+v, %v, not %+v", outcome, err, want)
	}
	if want := []uint16{4, 3, 5}; !slices.Equal(servers.acknowledged, want) {
		t.Errorf("%d, not %d", servers.acknowledged, want)
	}
	if want := []uint16{4, 4, 3, 3, 3, 3, 3, 5, 5, 5, 5, 5, 5, 5}; !slices.Equal(servers.rfc, want) {
		t.Errorf("%d, not %d", servers.rfc, want)
	}
	if err := downloads.Close(); err != nil || !servers.closed {
		t.Error("the servers stay open")
	}
}

func TestAServerIsAskedAgainUnlessItHasAnswered(t *testing.T) {
	t.Parallel()
	servers := &fakeServers{downloads: []arrival.Download{
		quiet(1, 5*time.Second), quiet(2, 5*time.Second), quiet(3, 5*time.Second),
	}}
	downloads := arrival.NewDownloads(servers)
	if outcome, err := downloads.Again(noon); err != nil || outcome != (arrival.DownloadsOutcome{}) {
		t.Errorf("before the first arrival: %+v, %v", outcome, err)
	}
	if _, err := downloads.Arrived(noon, 4*time.Second); err != nil {
		t.Fatal(err)
	}
	servers.forget()
	answered := quiet(1, 900*time.Millisecond)
	answered.Next++
	// The third has ended, the fourth was not there.
	servers.downloads = []arrival.Download{answered, quiet(2, 6*time.Second), quiet(4, 6*time.Second)}
	outcome, err := downloads.Again(noon.Add(time.Second))
	if want := (arrival.DownloadsOutcome{Resumed: 2, Messages: 6}); err != nil || outcome != want {
		t.Errorf("%+v, %v, not %+v", outcome, err, want)
	}
	if !slices.Equal(servers.acknowledged, []uint16{2}) || !slices.Equal(servers.rfc, []uint16{2, 2, 2, 2, 2}) {
		t.Errorf("%d, %d", servers.acknowledged, servers.rfc)
	}
	servers.errOfList = errors.New("no list")
	for _, ask := range []func() (arrival.DownloadsOutcome, error){
		func() (arrival.DownloadsOutcome, error) { return downloads.Again(noon) },
		func() (arrival.DownloadsOutcome, error) { return downloads.Arrived(noon, time.Second) },
	} {
		if outcome, err := ask(); !errors.Is(err, servers.errOfList) || outcome != (arrival.DownloadsOutcome{}) {
			t.Errorf("%+v, %v", outcome, err)
		}
	}
}

// Each download counts once, however many arrivals an outage ends with.
func TestAnArrivalSoonAfterAnother(t *testing.T) {
	t.Parallel()
	servers := &fakeServers{downloads: []arrival.Download{quiet(1, 5*time.Second), quiet(2, 5*time.Second)}}
	downloads := arrival.NewDownloads(servers)
	if _, err := downloads.Arrived(noon, 4*time.Second); err != nil {
		t.Fatal(err)
	}
	answered := quiet(1, 100*time.Millisecond)
	answered.Next++
	servers.downloads = []arrival.Download{answered, quiet(2, 5*time.Second), quiet(3, 5*time.Second)}
	outcome, err := downloads.Arrived(noon.Add(time.Second/2), 5*time.Second)
	if want := (arrival.DownloadsOutcome{Silent: 1, Resumed: 1, Messages: 12}); err != nil || outcome != want {
		t.Errorf("the second: %+v, %v, not %+v", outcome, err, want)
	}
	servers.downloads = nil
	outcome, err = downloads.Again(noon.Add(3 * time.Second / 2))
	if want := (arrival.DownloadsOutcome{Resumed: 2}); err != nil || outcome != want {
		t.Errorf("again: %+v, %v, not %+v", outcome, err, want)
	}
	// What goes on later than a second after the messages does so by itself.
	servers.downloads = []arrival.Download{quiet(4, 5*time.Second)}
	for _, ask := range []func() (arrival.DownloadsOutcome, error){
		func() (arrival.DownloadsOutcome, error) {
			return downloads.Arrived(noon.Add(time.Minute), 4*time.Second)
		},
		func() (arrival.DownloadsOutcome, error) { return downloads.Again(noon.Add(time.Minute + time.Second)) },
	} {
		if _, err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	servers.downloads = nil
	if outcome, err = downloads.Arrived(noon.Add(time.Hour), time.Second); err != nil || outcome.Resumed > 0 {
		t.Errorf("an hour later: %+v, %v", outcome, err)
	}
}

func TestAServerWithoutItsMessageDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	servers := &fakeServers{
		downloads: []arrival.Download{
			quiet(1, time.Second), quiet(2, time.Second), quiet(3, time.Second), quiet(4, time.Second),
		},
		// The first acknowledgment; the second's; the third's second message.
		errs: []error{refused, arrival.ErrAddressGone, nil, refused},
	}
	outcome, err := arrival.NewDownloads(servers).Arrived(noon, 4*time.Second)
	want := arrival.DownloadsOutcome{Silent: 4, Messages: 1 + 4, Refused: 2}
	if outcome != want {
		t.Errorf("%+v, not %+v", outcome, want)
	}
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "to 10.0.4.1") ||
		!strings.Contains(err.Error(), "the first of 2") {
		t.Error(err)
	}
	if !slices.Equal(servers.acknowledged, []uint16{3, 4}) || !slices.Equal(servers.rfc, []uint16{4, 4, 4}) {
		t.Errorf("%d, %d", servers.acknowledged, servers.rfc)
	}
}

func TestNoMoreMessagesToServersThanAllowed(t *testing.T) {
	t.Parallel()
	servers := &fakeServers{}
	for port := range uint16(1000) {
		servers.downloads = append(servers.downloads, quiet(port+1, 10*time.Second))
	}
	downloads := arrival.NewDownloads(servers)
	outcome, err := downloads.Arrived(noon, 9*time.Second)
	// Seven each: 512 are 73 times seven, and one.
	if want := (arrival.DownloadsOutcome{Silent: 1000, Messages: 511, Unsent: 927}); err != nil || outcome != want {
		t.Errorf("%+v, %v, not %+v", outcome, err, want)
	}
	// Of the 73 that were asked none has answered; 64 messages more are allowed each second.
	outcome, err = downloads.Again(noon.Add(time.Second))
	if want := (arrival.DownloadsOutcome{Messages: 63, Unsent: 64}); err != nil || outcome != want {
		t.Errorf("%+v, %v, not %+v", outcome, err, want)
	}
	if outcome, _ = downloads.Arrived(noon.Add(9*time.Second), 9*time.Second); outcome.Messages > 9*64 {
		t.Errorf("%+v", outcome)
	}
}
