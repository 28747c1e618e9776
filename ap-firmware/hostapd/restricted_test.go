// SPDX-License-Identifier: Apache-2.0

package hostapd_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/hostapd"
)

// OpenWrt's /etc/init.d/wpad runs hostapd as network:network, 101 both, with these capabilities and without a way to
// others. setpriv and unshare are util-linux's.
const (
	networkUser        = 101
	networkPermissions = "-all,+net_admin,+net_bind_service,+net_raw"
)

// jailed starts a real hostapd as OpenWrt does and returns the path of its control socket. Its interface has no radio.
// With a /tmp of its own it reaches of the machine's only the directory of its socket.
func jailed(t *testing.T, ownTmp bool) (path string, process *exec.Cmd) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a process as another user")
	}
	for _, tool := range []string{"hostapd", "setpriv", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v; make setup installs it", err)
		}
	}
	//nolint:usetesting // another user must be able to search the directory
	directory, err := os.MkdirTemp("", "jail")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	config := filepath.Join(directory, "hostapd.conf")
	sockets := filepath.Join(directory, "sockets")
	path = filepath.Join(sockets, "lo")
	text := fmt.Sprintf("interface=lo\ndriver=none\nssid=cell\nhw_mode=g\nchannel=1\nctrl_interface=%s\n", sockets)
	for _, err := range []error{
		os.WriteFile(config, []byte(text), 0o644),
		os.Mkdir(sockets, 0o755),
		os.Chown(sockets, networkUser, networkUser),
		os.Chmod(directory, 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	script := `exec "$@"`
	if ownTmp {
		script = `mount --bind "$0" /mnt && mount -t tmpfs tmpfs /tmp &&
			mkdir "$0" && mount --bind /mnt "$0" && exec "$@"`
	}
	process = exec.Command("unshare", "--mount", "sh", "-c", script, directory,
		"setpriv", fmt.Sprintf("--reuid=%d", networkUser), fmt.Sprintf("--regid=%d", networkUser), "--clear-groups",
		"--inh-caps="+networkPermissions, "--ambient-caps="+networkPermissions, "--bounding-set="+networkPermissions,
		"--no-new-privs", "hostapd", config)
	var output bytes.Buffer
	process.Stdout, process.Stderr = &output, &output
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if process.ProcessState == nil {
			_ = process.Process.Kill()
			_ = process.Wait()
		}
		if t.Failed() {
			t.Logf("hostapd: %s", output.String())
		}
	})
	for deadline := time.Now().Add(timeout); ; time.Sleep(5 * time.Millisecond) {
		if found, err := os.Lstat(path); err == nil {
			if owner := found.Sys().(*syscall.Stat_t).Uid; owner != networkUser {
				t.Fatalf("hostapd runs as user %d", owner)
			}
			return path, process
		}
		if time.Now().After(deadline) {
			t.Fatalf("hostapd made no control socket: %s", output.String())
		}
	}
}

func TestAHostapdOfAnotherUserAnswers(t *testing.T) {
	for name, ownTmp := range map[string]bool{"the machine's directories": false, "a /tmp of its own": true} {
		t.Run(name, func(t *testing.T) {
			path, _ := jailed(t, ownTmp)
			client, err := hostapd.Dial(path, func(err error) { t.Errorf("malformed: %v", err) })
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			if got, err := client.Status(t.Context()); err != nil || !slices.Equal(got.Interfaces, []string{"lo"}) {
				t.Errorf("%+v, %v", got, err)
			}
			if got, err := client.Stations(t.Context()); err != nil || len(got) > 0 {
				t.Errorf("%+v, %v", got, err)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Events arrive as well: the one of its end does, long before the next PING could find hostapd gone.
func TestEventsOfAHostapdOfAnotherUser(t *testing.T) {
	path, process := jailed(t, true)
	var log syncBuffer
	watcher := hostapd.NewWatcher(path, "lo", func(err error) { t.Errorf("malformed: %v", err) },
		slog.New(slog.NewTextHandler(&log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		watcher.Run(ctx)
	}()
	defer func() {
		cancel()
		<-finished
	}()
	await := func(known bool) {
		t.Helper()
		for {
			select {
			case update := <-watcher.Updates():
				if update.Associations.Known() == known {
					return
				}
			case <-time.After(timeout):
				t.Fatalf("associations are never known: %v; %s", known, log.String())
			}
		}
	}
	await(true)
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(false)
	if !strings.Contains(log.String(), "hostapd is terminating") {
		t.Errorf("no event: %s", log.String())
	}
}
