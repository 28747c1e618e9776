// SPDX-License-Identifier: Apache-2.0

package statedir_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/airbound/airbound/phone-agent/bounds"
	"github.com/airbound/airbound/phone-agent/statedir"
	"github.com/airbound/airbound/phone-agent/status"
)

func state(generation uint64) *status.State {
	return &status.State{
		Schema: status.Schema, Version: "1.2", PID: 42, Generation: generation,
		Rules: []bounds.Rule{{Selector: bounds.Selector{Kind: bounds.All}, MinSegs: 2, MaxSegs: 90}},
	}
}

func TestAStateIsReadAsItWasSaved(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	directory := statedir.New(path)
	if got, err := directory.Load(); got != nil || err != nil {
		t.Errorf("before any: %v, %v", got, err)
	}
	for _, generation := range []uint64{7, 8} {
		want := state(generation)
		if err := directory.Save(*want); err != nil {
			t.Fatal(err)
		}
		if got, err := directory.Load(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if entries, err := os.ReadDir(path); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestAStateFileThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	for text, message := range map[string]string{
		"":             "parse the state file: unexpected end of JSON input",
		`{"schema":2`:  "parse the state file: unexpected end of JSON input",
		`{"schema":1}`: "parse the state file: its schema is 1, this program reads 2",
		`{}`:           "parse the state file: its schema is 0, this program reads 2",
		`{"schema":2,"pid":"x"}`: "parse the state file: json: cannot unmarshal string into " +
			"Go struct field State.pid of type int",
	} {
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, "state.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := statedir.New(path).Load()
		if err == nil || err.Error() != filepath.Join(path, "state.json")+": "+message {
			t.Errorf("%q: %v", text, err)
		}
	}
}
