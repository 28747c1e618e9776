// SPDX-License-Identifier: Apache-2.0

package statedir_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

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

func TestADirectoryIsOneAgents(t *testing.T) {
	t.Parallel()
	directory := statedir.New(filepath.Join(t.TempDir(), "deep", "down"))
	isRunning := func(want bool) {
		t.Helper()
		if got, err := directory.Running(); err != nil || got != want {
			t.Errorf("running %v, %v", got, err)
		}
	}
	isRunning(false)
	unlock, err := directory.Lock()
	if err != nil {
		t.Fatal(err)
	}
	isRunning(true)
	if _, err := directory.Lock(); !errors.Is(err, statedir.ErrRunning) {
		t.Errorf("a second lock: %v", err)
	}
	isRunning(true)
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	isRunning(false)
	if unlock, err = directory.Lock(); err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

func TestTestingTheLockKeepsNoAgentFromStarting(t *testing.T) {
	t.Parallel()
	directory := statedir.New(t.TempDir())
	stop, tested := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				tested <- nil
				return
			default:
			}
			if _, err := directory.Running(); err != nil {
				tested <- err
				return
			}
		}
	}()
	for range 5000 {
		unlock, err := directory.Lock()
		if err != nil {
			t.Fatal(err)
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-tested; err != nil {
		t.Error(err)
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

func TestADirectoryThatCannotExistIsAnError(t *testing.T) {
	t.Parallel()
	directory := statedir.New("/dev/null/state")
	_, lockErr := directory.Lock()
	_, loadErr := directory.Load()
	running, runningErr := directory.Running()
	if running {
		t.Error("an agent runs")
	}
	begins(t, lockErr, "create the state directory: ")
	begins(t, directory.Save(*state(1)), "write the state: ")
	begins(t, loadErr, "read the state file: ")
	begins(t, runningErr, "check for a running agent: ")
}

func begins(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v, want one that begins with %q", err, want)
	}
}

func TestDirectoriesInTheWayOfFiles(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	for _, name := range []string{"lock", "state.json"} {
		if err := os.Mkdir(filepath.Join(path, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	directory := statedir.New(path)
	_, err := directory.Lock()
	begins(t, err, "open the lock: ")
	begins(t, directory.Save(*state(1)), "replace the state file: ")
}

// Not parallel: the umask is that of the whole process.
func TestPeopleWhoAreNotRootMayReadTheStatus(t *testing.T) { //nolint:paralleltest // see above
	defer unix.Umask(unix.Umask(0o022))
	path := filepath.Join(t.TempDir(), "state")
	directory := statedir.New(path)
	unlock, err := directory.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(directory.Save(*state(1)), unlock()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o755, "lock": 0o644, "state.json": 0o644} {
		if info, err := os.Stat(filepath.Join(path, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestAReaderOfTheLockIsNoAgent(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	directory := statedir.New(path)
	unlock, err := directory.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if running, err := directory.Running(); !running || err != nil {
		t.Errorf("%v, %v", running, err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	// Anybody may open it for reading, and lock it for reading.
	reader, err := os.Open(filepath.Join(path, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.FcntlFlock(reader.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK}); err != nil {
		t.Fatal(err)
	}
	if running, err := directory.Running(); running || err != nil {
		t.Errorf("%v, %v", running, err)
	}
	if _, err := directory.Lock(); err == nil || errors.Is(err, statedir.ErrRunning) {
		t.Errorf("%v", err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
}
