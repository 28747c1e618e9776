// SPDX-License-Identifier: Apache-2.0

package hostapd_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/hostapd/hostapdtest"
	"github.com/airbound/airbound/ap-firmware/mac"
)

// awaitUpdate takes the next update.
func (b *bench) awaitUpdate() hostapd.Update {
	b.t.Helper()
	select {
	case update := <-b.watcher.Updates():
		return update
	case <-time.After(timeout):
		b.t.Fatalf("no update: %s", b.log.String())
		return hostapd.Update{}
	}
}

func TestAHostapdWithoutAListSaysSo(t *testing.T) {
	t.Parallel()
	server, client := dial(t, "02:00:00:00:01:00")
	t.Cleanup(func() { _ = client.Close() })
	server.RefuseLists()
	if stations, err := client.Stations(t.Context()); !errors.Is(err, hostapd.ErrNoList) || len(stations) > 0 {
		t.Errorf("%v, %v", stations, err)
	}
	if err := client.Ping(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// The hostapd of wpad-basic: its events count, who is associated is the kernel's to say.
func TestEventsOfAHostapdWithoutAList(t *testing.T) {
	b := newBench(t)
	server := hostapdtest.New("wlan0", phone1)
	server.RefuseLists()
	b.listen(server)
	if got := b.awaitUpdate(); got.Associations.Known() || !got.Enabled || got.Change != (hostapd.Change{}) {
		t.Fatalf("attached: %+v", got)
	}
	first, err := mac.Parse(phone1)
	if err != nil {
		t.Fatal(err)
	}
	// It was there before the watcher; that it leaves is news all the same.
	server.Leave(phone1)
	if got := b.awaitUpdate(); got.Associations.Known() || got.Change != (hostapd.Change{Left: true, Station: first}) {
		t.Errorf("left: %+v", got)
	}
	server.Join(phone1)
	got := b.awaitUpdate()
	if got.Associations.Known() || got.Change != (hostapd.Change{Joined: true, Station: first}) {
		t.Errorf("joined: %+v", got)
	}
	server.Send("<3>AP-ENABLED ")
	if got := b.awaitUpdate(); !got.Enabled || got.Change != (hostapd.Change{}) {
		t.Errorf("enabled: %+v", got)
	}
	b.watcher.Refresh() // Of no use here, and no reason to connect again.
	server.Join(phone2)
	if got := b.awaitUpdate(); !got.Change.Joined || got.Change.Station == first {
		t.Errorf("joined: %+v", got)
	}
	if got := b.refused(); len(got) > 0 || server.Attached() != 1 {
		t.Errorf("refused %q, attached %d times", got, server.Attached())
	}
	if log := b.log.String(); !strings.Contains(log, "lists no stations") {
		t.Errorf("log is %s", log)
	}
}

// wpad-basic is replaced by the full wpad, or the other way round, while the agent runs.
func TestAHostapdWithAListAfterOneWithoutAndBack(t *testing.T) {
	b := newBench(t)
	for _, listless := range []bool{true, false, true} {
		server := hostapdtest.New("wlan0", phone1)
		if listless {
			server.RefuseLists()
		}
		b.listen(server)
		got := b.awaitUpdate()
		for !got.Enabled {
			got = b.awaitUpdate() // The one of the hostapd that ended.
		}
		if got.Associations.Known() == listless || got.Associations.Len() != map[bool]int{true: 0, false: 1}[listless] {
			t.Errorf("without a list %v: %+v", listless, got)
		}
		if err := server.Terminate(); err != nil {
			t.Fatal(err)
		}
	}
}
