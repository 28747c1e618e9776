// SPDX-License-Identifier: Apache-2.0

package filewatch_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/filewatch"
)

const timeout = 30 * time.Second

// follow returns what was read after each change, and the channel of Follow's end.
func follow(ctx context.Context, path string) (read chan string, ended chan error) {
	read, ended = make(chan string, 100), make(chan error, 1)
	go func() {
		ended <- filewatch.Follow(ctx, path, func() {
			text, err := filewatch.Read(path, 10)
			if err != nil {
				text = []byte(err.Error())
			}
			read <- string(text)
		})
	}()
	return read, ended
}

// until waits for a text: one change may be noticed several times, and a text may be read half written.
func until(t *testing.T, read <-chan string, want string) {
	t.Helper()
	limit := time.After(timeout)
	for {
		select {
		case got := <-read:
			if strings.HasSuffix(got, want) && (want != "" || got == "") {
				return
			}
		case <-limit:
			t.Fatalf("%q was not read", want)
		}
	}
}

func TestAllThatMayChangeAFileIsNoticed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	path := filepath.Join(t.TempDir(), "file")
	read, ended := follow(ctx, path)
	until(t, read, "")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(path, []byte("one"), 0o600))
	until(t, read, "one")
	must(os.WriteFile(path+".new", []byte("two"), 0o600))
	must(os.Rename(path+".new", path))
	until(t, read, "two")
	must(os.Remove(path))
	until(t, read, "")
	must(os.WriteFile(path, []byte("four"), 0o600))
	until(t, read, "four")
	must(os.Rename(path, path+".old"))
	until(t, read, "")
	must(os.WriteFile(path, []byte("more than ten bytes"), 0o600))
	until(t, read, "is longer than 10 bytes: too long")
	must(os.Remove(path))
	must(os.Mkdir(path+".folder", 0o700))
	must(os.Rename(path+".folder", path))
	until(t, read, "is not a file")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Android's list of packages is in a folder with many files of the system's.
func TestOtherFilesOfTheFolderDoNotMatter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	read, _ := follow(t.Context(), path)
	until(t, read, "")
	readOther, _ := follow(t.Context(), path+".other")
	until(t, readOther, "")
	for _, text := range []string{"1", "2", "3"} {
		if err := os.WriteFile(path+".other", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		until(t, readOther, text)
	}
	if err := os.WriteFile(path+".new", []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "one" {
		t.Errorf("%q was read", got)
	}
}

// As an update of a package does, or a script that makes a folder anew and moves it into place.
func TestAFolderThatComesAndIsReplaced(t *testing.T) {
	t.Parallel()
	upper := filepath.Join(t.TempDir(), "upper")
	folder := filepath.Join(upper, "folder")
	path := filepath.Join(folder, "file")
	ctx, cancel := context.WithCancel(t.Context())
	read, ended := follow(ctx, path)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string) {
		t.Helper()
		must(os.MkdirAll(filepath.Dir(path), 0o700))
		must(os.WriteFile(path, []byte(text), 0o600))
	}
	until(t, read, "")
	write(path, "one")
	until(t, read, "one")
	write(filepath.Join(folder+".new", "file"), "two")
	must(os.Rename(folder, folder+".old"))
	must(os.Rename(folder+".new", folder))
	until(t, read, "two")
	must(os.RemoveAll(folder))
	until(t, read, "")
	write(path, "three")
	until(t, read, "three")
	write(filepath.Join(upper+".new", "folder", "file"), "four")
	must(os.Rename(upper, upper+".old"))
	must(os.Rename(upper+".new", upper))
	until(t, read, "four")
	// What is in its way is none.
	must(os.RemoveAll(upper))
	must(os.WriteFile(upper, nil, 0o600))
	until(t, read, ": not a directory")
	must(os.Remove(upper))
	write(path, "five")
	until(t, read, "five")
	must(os.WriteFile(path, []byte("six"), 0o600))
	until(t, read, "six")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Without a folder nothing but its coming matters.
func TestOtherFoldersBesideTheMissingOneDoNotMatter(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	read, _ := follow(t.Context(), filepath.Join(above, "folder", "file"))
	until(t, read, "")
	readOther, _ := follow(t.Context(), filepath.Join(above, "other"))
	until(t, readOther, "")
	if err := os.WriteFile(filepath.Join(above, "other"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, readOther, "1")
	if err := os.Mkdir(filepath.Join(above, "new"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(above, "new", "file"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(above, "new"), filepath.Join(above, "folder")); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "one" {
		t.Errorf("%q was read", got)
	}
}
