// SPDX-License-Identifier: Apache-2.0

package hostapd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/hostapd/hostapdtest"
)

func TestAStationThatLeavesDuringTheListHidesNoOther(t *testing.T) {
	t.Parallel()
	//nolint:usetesting // the path of t.TempDir outgrows the 108 bytes of a socket's address with the name of the test
	directory, err := os.MkdirTemp("", "hostapd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	path := filepath.Join(directory, "wlan0")
	all := []string{"02:00:00:00:01:00", "02:00:00:00:01:01", "02:00:00:00:01:02", "02:00:00:00:01:03"}
	server, err := hostapdtest.Start(path, "wlan0", all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })
	client, err := hostapd.Dial(path, func(err error) { t.Errorf("malformed: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
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
	for i := range 9 {
		server.JoinSilently(fmt.Sprintf("02:00:00:00:02:0%d", i))
	}
	server.LeaveWhenListed(1000)
	stations, err = client.Stations(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the current station of the list left") {
		t.Errorf("%v, %v", stations, err)
	}
}
