// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const mountsVariable = "AIRBOUND_TEST_MOUNTS"

// withMounts runs a test in a process with mounts of its own, which needs root. It returns false in the process that
// only started it.
func withMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(mountsVariable) != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount; `make test` as root runs it")
	}
	command := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), mountsVariable+"=1")
	command.SysProcAttr = &unix.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, output)
	}
	return false
}

// smallDisk is a file system of a few pages.
type smallDisk struct {
	t    *testing.T
	path string
}

func mount(t *testing.T) smallDisk {
	t.Helper()
	path := t.TempDir()
	if err := unix.Mount("none", path, "tmpfs", 0, "size=64k,mode=0700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	return smallDisk{t, path}
}

func (d smallDisk) filler() string { return filepath.Join(d.path, "filler") }

// fill writes until the disk is full.
func (d smallDisk) fill() {
	file, err := os.OpenFile(d.filler(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Error(err)
		return
	}
	defer func() { _ = file.Close() }()
	for err == nil {
		_, err = file.Write(make([]byte, os.Getpagesize()))
	}
	if !strings.Contains(err.Error(), "no space left") {
		d.t.Error(err)
	}
}

func (d smallDisk) empty() {
	if err := os.Remove(d.filler()); err != nil {
		d.t.Error(err)
	}
}

func (d smallDisk) readOnly(readOnly bool) {
	d.t.Helper()
	flags := uintptr(unix.MS_REMOUNT)
	if readOnly {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount("none", d.path, "tmpfs", flags, "size=64k"); err != nil {
		d.t.Fatal(err)
	}
}

// contents returns the files of a set.
func (d smallDisk) contents(directory string) map[string]string {
	d.t.Helper()
	found := contents(d.t, directory)
	maps.DeleteFunc(found, func(name, _ string) bool { return strings.HasSuffix(name, ".new") })
	return found
}

func TestAFullDisk(t *testing.T) { //nolint:paralleltest // in a process of its own
	if !withMounts(t) {
		return
	}
	disk := mount(t)
	c := credentialstest.Start(t, newStreams().register)
	cfg := config(t, c)
	cfg.Directory = filepath.Join(disk.path, "credentials")
	cfg.Token = c.Invite(identity.RoleTerminal, name)

	// Before the device asks: it does not ask.
	disk.fill()
	d := start(t, cfg)
	d.awaitError("no space left on device")
	if got := d.lastStatus(); got.LastErrorCode != identity.DiskFull || !strings.HasPrefix(got.LastError, "enrol: ") ||
		!strings.Contains(got.LastError, cfg.Directory) {
		t.Errorf("%+v", got)
	}
	if got := c.Counts(); got.Enrolments != 0 {
		t.Errorf("asked without a key on the disk: %+v", got)
	}
	c.Set(func(b *credentialstest.Behaviour) {
		b.Alter, b.RefuseRenewal = old(5*time.Minute), status.Error(codes.Unavailable, "later")
	})
	disk.empty()
	eventually(t, "enrolled", func() bool { return d.lastStatus().ID == id })
	d.stop()
	if err := os.RemoveAll(filepath.Join(cfg.Directory, "next-key.pem")); err != nil { // of a refused renewal
		t.Fatal(err)
	}
	before := disk.contents(cfg.Directory)
	cfg.Token = ""

	// Before a renewal: it is not asked for, the stream goes on.
	disk.fill()
	d = start(t, cfg)
	expect(t, "state", d.connects, true)
	d.awaitError("no space left on device")
	if got := d.lastStatus(); got.LastErrorCode != identity.DiskFull || got.ID != id ||
		!strings.HasPrefix(got.LastError, "renew the certificate: ") {
		t.Errorf("%+v", got)
	}
	d.stop()
	if got := disk.contents(cfg.Directory); !maps.Equal(got, before) {
		t.Errorf("changed: %v", slices.Sorted(maps.Keys(got)))
	}

	// After the answer to a renewal: the new certificate is used, the old one is on the disk.
	disk.empty()
	c.Set(func(b *credentialstest.Behaviour) {
		b.RefuseRenewal = nil
		b.Alter = func(*credentialstest.Leaf, *airboundv1.Credentials) { disk.fill() }
	})
	d = start(t, cfg)
	d.awaitError("no space left on device")
	eventually(t, "the new certificate is used", func() bool { return d.lastStatus().NotAfter.After(time.Now()) })
	if got := disk.contents(cfg.Directory); got["certificate.pem"] != before["certificate.pem"] ||
		got["key.pem"] != before["key.pem"] {
		t.Errorf("changed: %v", slices.Sorted(maps.Keys(got)))
	}
	// Cut off here, the device has the old one.
	if _, err := open(t, cfg); err != nil {
		t.Error(err)
	}
	c.Set(func(b *credentialstest.Behaviour) { b.Alter = nil })
	disk.empty()
	eventually(t, "written", func() bool {
		return d.lastStatus().LastError == "" &&
			disk.contents(cfg.Directory)["certificate.pem"] != before["certificate.pem"]
	})
	d.stop()
	checkSet(t, cfg.Directory)
	if got := c.Counts(); got.Enrolments != 1 || got.Renewals != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAReadOnlyDisk(t *testing.T) { //nolint:paralleltest // in a process of its own
	if !withMounts(t) {
		return
	}
	disk := mount(t)
	c := credentialstest.Start(t, newStreams().register)
	cfg := config(t, c)
	cfg.Directory = filepath.Join(disk.path, "credentials")
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	disk.readOnly(true)
	d, err := open(t, cfg)
	if err == nil || !strings.Contains(err.Error(), "mkdir "+cfg.Directory+": read-only file system") {
		t.Errorf("%v", err)
	}
	if got := d.lastStatus(); got.LastErrorCode != identity.DiskReadOnly {
		t.Errorf("%+v", got)
	}
	if err := os.Mkdir(filepath.Join(t.TempDir(), "x"), 0o700); err != nil {
		t.Fatal("the rest of the system is read-only:", err)
	}
	disk.readOnly(false)
	cfg.Directory = due(t, c)
	copied := filepath.Join(disk.path, "credentials")
	copyDirectory(t, cfg.Directory, copied)
	cfg.Directory, cfg.Token = copied, ""
	disk.readOnly(true)
	d = start(t, cfg)
	expect(t, "state", d.connects, true)
	d.awaitError("read-only file system")
	if got := d.lastStatus(); got.LastErrorCode != identity.DiskReadOnly || got.ID != id {
		t.Errorf("%+v", got)
	}
	disk.readOnly(false)
	eventually(t, "renewed", func() bool { return d.lastStatus().LastError == "" && c.Counts().Renewals == 1 })
	d.stop()
	checkSet(t, cfg.Directory)
}

func TestADirectoryOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files to another user; `make test` as root runs it")
	}
	const other = 12345
	c := credentialstest.Start(t, nil)
	cfg := enrolled(t, c)
	key := filepath.Join(cfg.Directory, "key.pem")
	for path, code := range map[string]identity.FailureCode{
		cfg.Directory: identity.DirectoryNotPrivate, key: identity.FilesDamaged,
	} {
		if err := os.Chown(path, other, other); err != nil {
			t.Fatal(err)
		}
		d, err := open(t, cfg)
		if want := path + " belongs to user 12345, the agent runs as user 0"; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if got := d.lastStatus(); got.LastErrorCode != code {
			t.Errorf("%+v", got)
		}
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := open(t, cfg); err != nil {
		t.Error(err)
	}
}

// The disk fails to read what may be good: nothing is replaced, though there is a token. A directory in the place of a
// file stands for such a disk.
func TestFilesThatCannotBeReadAreNotReplaced(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	for _, name := range []string{"certificate.pem", "authorities.pem", "key.pem", "next-key.pem"} {
		cfg := enrolled(t, c)
		path := filepath.Join(cfg.Directory, name)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "next-key.pem" {
			if err := os.Remove(filepath.Join(cfg.Directory, "certificate.pem")); err != nil {
				t.Fatal(err)
			}
		}
		cfg.Token = c.Invite(identity.RoleTerminal, name)
		before := c.Counts()
		var got identity.Status
		if name == "next-key.pem" {
			d := start(t, cfg)
			d.awaitError("is a directory")
			d.stop()
			got = d.lastStatus()
		} else {
			d, err := open(t, cfg)
			if err == nil || !strings.Contains(err.Error(), path+": is a directory") {
				t.Errorf("%s: %v", name, err)
			}
			got = d.lastStatus()
		}
		if got.LastErrorCode != identity.FilesUnreadable {
			t.Errorf("%s: %+v", name, got)
		}
		if after := c.Counts(); after != before {
			t.Errorf("%s: asked, %+v", name, after)
		}
	}
}
