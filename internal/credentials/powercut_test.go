// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
)

// disk is what a power cut leaves of a directory, in the worst case that POSIX allows: of a file what was synced, of a
// directory's names those of its last sync, or those that the kernel had, or anything between the two.
type disk struct {
	names, synced map[string]*inode
}

type inode struct {
	mode            fs.FileMode
	content, synced []byte
}

func newDisk(t *testing.T, root string) *disk {
	t.Helper()
	d := &disk{names: map[string]*inode{".": {mode: fs.ModeDir | 0o700}}}
	for name, mode := range files(t, root) {
		d.names[name] = &inode{mode: mode}
		if mode.IsDir() {
			for file, mode := range files(t, filepath.Join(root, name)) {
				content := []byte(read(t, filepath.Join(root, name, file)))
				d.names[filepath.Join(name, file)] = &inode{mode, content, content}
			}
		}
	}
	d.synced = maps.Clone(d.names)
	return d
}

// change does what a system call does.
func (d *disk) change(t *testing.T, done change) {
	t.Helper()
	if done.failed {
		return
	}
	switch done.call {
	case "mkdir":
		d.names[done.path] = &inode{mode: fs.ModeDir | 0o700}
	case "open":
		if d.names[done.path] == nil {
			d.names[done.path] = &inode{mode: done.mode}
		}
	case "write":
		d.names[done.path].content = append(d.names[done.path].content, done.written...)
	case "rename":
		d.names[done.to] = d.names[done.path]
		delete(d.names, done.path)
	case "unlink":
		delete(d.names, done.path)
	case "fsync":
		synced := d.names[done.path]
		if !synced.mode.IsDir() {
			synced.synced = slices.Clone(synced.content)
			return
		}
		isIn := func(name string, _ *inode) bool { return filepath.Dir(name) == done.path && name != "." }
		maps.DeleteFunc(d.synced, isIn)
		for name, found := range d.names {
			if isIn(name, found) {
				d.synced[name] = found
			}
		}
	default:
		t.Fatalf("the model does not have %s of %s", done.call, done.path)
	}
}

// leave writes what is left.
func leave(t *testing.T, names map[string]*inode, root string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		left := names[name]
		if left.mode.IsDir() {
			if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
				t.Fatal(err)
			}
		} else if names[filepath.Dir(name)] != nil {
			if err := os.WriteFile(filepath.Join(root, name), left.synced, left.mode); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A power cut takes what was not synced, at any moment of an enrolment and of a renewal.
func TestAPowerCutAnywhere(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	template := due(t, c)
	for what, renew := range map[string]bool{"enrolment": false, "renewal": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, c)
			root := filepath.Dir(cfg.Directory)
			if renew {
				copyDirectory(t, template, cfg.Directory)
			} else {
				// The parents of the directory are made as well.
				cfg.Directory = filepath.Join(root, "lib", "credentials")
				cfg.Token = c.Invite(identity.RoleTerminal, name)
			}
			left := newDisk(t, root)
			changes, _ := watch(t, root, roleOf(c, cfg, renew), -1)
			checkRenames(t, changes)
			for number := range len(changes) + 1 {
				if number > 0 {
					left.change(t, changes[number-1])
				}
				wasAsked := number == len(changes) || changes[number].connected
				for kind, names := range map[string]map[string]*inode{
					"as they were synced": left.synced, "as the kernel had them": left.names,
				} {
					cut := config(t, c)
					cutRoot := filepath.Dir(cut.Directory)
					relative, _ := strings.CutPrefix(cfg.Directory, root)
					cut.Directory = filepath.Join(cutRoot, relative)
					leave(t, names, cutRoot)
					switch {
					case renew:
					case wasAsked:
						cut.Token = cfg.Token
					default:
						cut.Token = c.Invite(identity.RoleTerminal, name)
					}
					checkRestart(t, cut)
					if t.Failed() {
						t.Fatalf("power cut %s of %d, names %s", last(changes[:number]), len(changes), kind)
					}
				}
			}
		})
	}
}

func checkRestart(t *testing.T, cfg credentials.Config) {
	t.Helper()
	opened, err := open(t, cfg)
	if err != nil {
		t.Error(err)
		return
	}
	if cfg.Token == "" && opened.lastStatus().LastError != "" {
		t.Error(opened.lastStatus().LastError)
	}
	finish(t, cfg)
	checkSet(t, cfg.Directory)
}

// checkRenames checks that a file gets its name when the disk has it, within its directory, and that the name is synced
// before anything else is changed.
func checkRenames(t *testing.T, changes []change) {
	t.Helper()
	renames := 0
	for i, done := range changes {
		if done.call != "rename" || done.failed {
			continue
		}
		renames++
		directory := filepath.Dir(done.to)
		if filepath.Dir(done.path) != directory {
			t.Errorf("%s is renamed to %s", done.path, done.to)
		}
		if before := changes[i-1]; before.call != "fsync" || before.path != done.path || before.failed {
			t.Errorf("%s %s before the rename of %s", before.call, before.path, done.path)
		}
		if i+1 == len(changes) || changes[i+1].failed || changes[i+1].call != "fsync" ||
			changes[i+1].path != directory {
			t.Errorf("%s is not synced after the rename to %s", directory, done.to)
		}
	}
	const files = 4 // next key, authorities, certificate, key
	if renames < files {
		t.Errorf("%d renames", renames)
	}
}
