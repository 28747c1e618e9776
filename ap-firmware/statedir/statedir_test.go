// SPDX-License-Identifier: Apache-2.0

package statedir_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/statedir"
	"github.com/airbound/airbound/ap-firmware/status"
)

func TestEachInterfaceHasADirectory(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(t.TempDir(), "airbound-ap")
	if names, err := statedir.Interfaces(parent); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
	for _, name := range []string{"wlan1", "wlan0"} {
		unlock, err := statedir.New(parent, name).Lock()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unlock() })
	}
	if err := os.WriteFile(filepath.Join(parent, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if names, err := statedir.Interfaces(parent); err != nil || !slices.Equal(names, []string{"wlan0", "wlan1"}) {
		t.Errorf("%v, %v", names, err)
	}
	if names, err := statedir.Interfaces("/dev/null/state"); err == nil {
		t.Errorf("%v", names)
	}
}

func TestTheRecordAndTheState(t *testing.T) {
	t.Parallel()
	directory := statedir.New(t.TempDir(), "wlan0")
	unlock, err := directory.Lock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unlock() })
	if got, err := directory.LoadRecord(); got != nil || err != nil {
		t.Errorf("before any: %v, %v", got, err)
	}
	record := edca.Record{
		Schema: edca.RecordSchema, Agent: "x", Interface: "wlan0",
		Own: []edca.Queue{{Category: edca.BestEffort, Parameters: edca.Parameters{AIFSN: 3, CWMin: 15, CWMax: 63}}},
	}
	if err := directory.SaveRecord(record); err != nil {
		t.Fatal(err)
	}
	if got, err := directory.LoadRecord(); err != nil || !reflect.DeepEqual(got, &record) {
		t.Errorf("%+v, %v", got, err)
	}
	state := status.State{Schema: status.Schema, PID: 42}
	if err := directory.SaveState(state); err != nil {
		t.Fatal(err)
	}
	if got, err := directory.LoadState(); err != nil || !reflect.DeepEqual(got, &state) {
		t.Errorf("%+v, %v", got, err)
	}
	for range 2 { // The second time there is nothing to remove.
		if err := directory.RemoveRecord(); err != nil {
			t.Error(err)
		}
	}
	if got, err := directory.LoadRecord(); got != nil || err != nil {
		t.Errorf("afterwards: %v, %v", got, err)
	}
	if err := statedir.New("/dev/null", "wlan0").RemoveRecord(); err == nil {
		t.Error("removed below a file")
	}
}
