// SPDX-License-Identifier: Apache-2.0

//go:build patched

package procfs_test

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/apply/procfs"
	"github.com/airbound/airbound/phone-agent/bounds"
)

const (
	live, bulk = 10073, 10074
	server     = "10.0.4.1"
	// settledAfter is more than a round trip: rules apply at the next ACK.
	settledAfter = 200 * time.Millisecond
	samples      = 50
	sampleEvery  = 20 * time.Millisecond
)

// TestTwoAppsToOneServerOfAPatchedKernel runs in the guest of lab/tests/test_two_apps_uml.py. Live video and an upload
// go to one server, which has a rule for all. With a rule of its own for the server live has its own window, with one
// for its app alone it does not.
func TestTwoAppsToOneServerOfAPatchedKernel(t *testing.T) {
	backEnd := procfs.New(procfs.NewFiles("/proc"))
	can, err := backEnd.Up()
	want := bounds.Capabilities{
		Name: "procfs", CanSetMax: true, CanSetMin: true, CanSelectDestination: true, CanSelectUID: true,
		CanSelectUIDDestination: true, RulesMax: 256,
	}
	if err != nil || can != want {
		t.Fatalf("%+v, %v", can, err)
	}
	sinkOf := listen(t)
	senders := map[uint32]int{live: sendAs(t, live, sinkOf), bulk: sendAs(t, bulk, sinkOf)}
	set := func(rules ...bounds.Rule) {
		t.Helper()
		if outcome, err := backEnd.Set(rules); err != nil || !outcome.Wrote || outcome.ExternalChange {
			t.Fatalf("%+v, %v", outcome, err)
		}
		time.Sleep(settledAfter)
	}

	app, all := app(live, 20, 30), dst(server+"/32", 2, 6)
	set(app, all)
	windowsAreWithin(t, senders, map[uint32][2]uint32{live: {1, 6}, bulk: {1, 6}})
	set(app, all, appTo(live, "10.0.0.0/8", 5, 8), appTo(live, server+"/32", 20, 30))
	windowsAreWithin(t, senders, map[uint32][2]uint32{live: {20, 30}, bulk: {1, 6}})
	set(app, all, appTo(live, "10.0.0.0/8", 12, 16))
	windowsAreWithin(t, senders, map[uint32][2]uint32{live: {12, 16}, bulk: {1, 6}})

	now, err := backEnd.Live()
	if err != nil || len(now.Rules) != 3 {
		t.Fatalf("%+v, %v", now, err)
	}
	if effect := now.Rules[2].Effect; effect == nil || effect.Raised+effect.Lowered == 0 {
		t.Errorf("the rule that decides has counted nothing: %+v", now)
	}
	set(app, all)
	windowsAreWithin(t, senders, map[uint32][2]uint32{live: {1, 6}, bulk: {1, 6}})
	if err := backEnd.Close(); err != nil {
		t.Fatal(err)
	}
	if now, err := backEnd.Live(); err != nil || len(now.Rules) != 0 {
		t.Errorf("after the end: %+v, %v", now, err)
	}
}

func windowsAreWithin(t *testing.T, senders map[uint32]int, limits map[uint32][2]uint32) {
	t.Helper()
	for range samples {
		time.Sleep(sampleEvery)
		for uid, socket := range senders {
			info, err := unix.GetsockoptTCPInfo(socket, unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil {
				t.Fatal(err)
			}
			if limit := limits[uid]; info.Snd_cwnd < limit[0] || info.Snd_cwnd > limit[1] {
				t.Fatalf("uid %d: a window of %d, not within %v", uid, info.Snd_cwnd, limit)
			}
		}
	}
}

// listen starts a server that reads all that it is sent, and returns its address.
func listen(t *testing.T) *net.TCPAddr {
	t.Helper()
	listener, err := net.Listen("tcp", server+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, connection) }()
		}
	}()
	return listener.Addr().(*net.TCPAddr)
}

// sendAs sends as much as the network takes, on a socket of an app, until the test ends.
func sendAs(t *testing.T, uid int, to *net.TCPAddr) int {
	t.Helper()
	// The owner of a socket is the file system's user of the thread that makes it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SetfsuidRetUid(uid)
	if err != nil {
		t.Fatal(err)
	}
	socket, errSocket := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if _, err := unix.SetfsuidRetUid(before); err != nil || errSocket != nil {
		t.Fatal(err, errSocket)
	}
	t.Cleanup(func() { _ = unix.Close(socket) })
	// Not from the server's own address: each end would be a connection to it.
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{10, 0, 9, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(socket, &unix.SockaddrInet4{Addr: [4]byte(to.IP.To4()), Port: to.Port}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for data := make([]byte, 64<<10); ; {
			if _, err := unix.Write(socket, data); err != nil {
				return
			}
		}
	}()
	return socket
}
