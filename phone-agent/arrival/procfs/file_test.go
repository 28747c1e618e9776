// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/airbound/airbound/phone-agent/arrival"
	"github.com/airbound/airbound/phone-agent/arrival/procfs"
)

func newRoot(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "net"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, "net", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const waits = "header\n" +
	"   0: 0B00000A:9C40 0104000A:01BB 01 00000001:00000000 01:00000010 00000003 0 0 1 2 0 48 0 0 1 7\n"

func TestTheFileContainsTheRequest(t *testing.T) {
	t.Parallel()
	root := newRoot(t, map[string]string{"tcp_retransmit": "", "tcp": waits})
	backEnd, err := procfs.Open(procfs.NewFiles(root))
	if err != nil {
		t.Fatal(err)
	}
	if outcome, err := backEnd.Retransmit(0); err != nil || outcome != (arrival.Outcome{Unanswered: 1}) {
		t.Errorf("%+v, %v", outcome, err)
	}
	if got, err := os.ReadFile(filepath.Join(root, "net", "tcp_retransmit")); err != nil || string(got) != "all\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTheFileIsNeverCreated(t *testing.T) {
	t.Parallel()
	file := procfs.NewFiles(newRoot(t, nil))
	if _, err := procfs.Open(file); !errors.Is(err, arrival.ErrNotSupported) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open: %v", err)
	}
	if err := file.Request([]byte("all\n")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("request: %v", err)
	}
	if tables, err := file.Tables(); err != nil || len(tables) != 0 {
		t.Errorf("%q, %v", tables, err)
	}
}

func TestAWriteThatFailsNamesTheFile(t *testing.T) {
	t.Parallel()
	root := newRoot(t, nil)
	name := filepath.Join(root, "net", "tcp_retransmit")
	if err := os.Symlink("/dev/full", name); err != nil {
		t.Fatal(err)
	}
	err := procfs.NewFiles(root).Request([]byte("all\n"))
	var path *fs.PathError
	if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &path) || path.Op != "write" || path.Path != name {
		t.Errorf("%v", err)
	}
}
