// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/airbound/airbound/phone-agent/apply/procfs"
	"github.com/airbound/airbound/phone-agent/bounds"
)

func TestTheFileContainsTheLastTransaction(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "net"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "net", "tcp_cwnd_bounds")
	if err := os.WriteFile(path, []byte("all 1 2\nall 3 4\nall 5 6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	backEnd := procfs.New(procfs.NewFiles(root))
	if _, err := backEnd.Up(); err != nil {
		t.Fatal(err)
	}
	if _, err := backEnd.Set([]bounds.Rule{dst("10.0.9.1/32", 10, 20)}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "flush\ndst 10.0.9.1/32 10 20\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTheFileIsNeverCreated(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := procfs.NewFiles(root)
	err := file.Write([]byte("flush\n"))
	var path *fs.PathError
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &path) || path.Op != "open" ||
		path.Path != filepath.Join(root, "net", "tcp_cwnd_bounds") {
		t.Errorf("write: %v", err)
	}
	if _, err := file.Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read: %v", err)
	}
}

func TestAWriteThatFailsNamesTheFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "net"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(root, "net", "tcp_cwnd_bounds")); err != nil {
		t.Fatal(err)
	}
	err := procfs.NewFiles(root).Write([]byte("flush\n"))
	var path *fs.PathError
	if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &path) || path.Op != "write" ||
		path.Path != filepath.Join(root, "net", "tcp_cwnd_bounds") {
		t.Errorf("%v", err)
	}
}
