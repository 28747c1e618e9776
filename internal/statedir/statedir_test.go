// SPDX-License-Identifier: Apache-2.0

package statedir_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/statedir"
)

const name = "state.json"

func parse(text []byte) (state int, err error) {
	err = json.Unmarshal(text, &state)
	return state, err
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

func TestADirectoryThatCannotExistIsAnError(t *testing.T) {
	t.Parallel()
	directory := statedir.New("/dev/null/state")
	_, lockErr := directory.Lock()
	_, loadErr := statedir.Load(directory, name, parse)
	running, runningErr := directory.Running()
	if running {
		t.Error("an agent runs")
	}
	begins(t, lockErr, "create the state directory: ")
	begins(t, directory.Save(name, 1), "write the state: ")
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
	for _, entry := range []string{"lock", name} {
		if err := os.Mkdir(filepath.Join(path, entry), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	directory := statedir.New(path)
	_, err := directory.Lock()
	begins(t, err, "open the lock: ")
	begins(t, directory.Save(name, 1), "replace the state file: ")
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
	if err := errors.Join(directory.Save(name, 1), unlock()); err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[string]os.FileMode{"": 0o755, "lock": 0o644, name: 0o644} {
		if info, err := os.Stat(filepath.Join(path, entry)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: %v, %v, want %v", entry, info.Mode(), err, want)
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

func TestAFileIsReplacedReadAndRemoved(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	directory := statedir.New(path)
	for range 2 { // The second time there is nothing to remove.
		if got, err := statedir.Load(directory, name, parse); got != nil || err != nil {
			t.Errorf("no file: %v, %v", got, err)
		}
		for _, want := range []int{7, 8} {
			if err := directory.Save(name, want); err != nil {
				t.Fatal(err)
			}
			if got, err := statedir.Load(directory, name, parse); err != nil || *got != want {
				t.Errorf("%v, %v, want %d", got, err, want)
			}
		}
		if entries, err := os.ReadDir(path); err != nil || len(entries) != 1 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
		for range 2 {
			if err := directory.Remove(name); err != nil {
				t.Error(err)
			}
		}
	}
	begins(t, directory.Save(name, func() {}), "encode the state: ")
	begins(t, statedir.New("/dev/null").Remove(name), "remove the state file: ")
	if err := directory.Save(name, "no number"); err != nil {
		t.Fatal(err)
	}
	_, err := statedir.Load(directory, name, parse)
	begins(t, err, filepath.Join(path, name)+": json: ")
}
