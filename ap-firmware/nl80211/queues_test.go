// SPDX-License-Identifier: Apache-2.0

package nl80211_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
)

var twoQueues = []edca.Queue{
	{Category: edca.Background, Parameters: edca.Parameters{AIFSN: 7, CWMin: 31, CWMax: 1023}},
	{Category: edca.BestEffort, Parameters: edca.Parameters{AIFSN: 5, CWMin: 15, CWMax: 511, TXOPLimit: 94}},
}

func TestQueuesAreSet(t *testing.T) {
	var kernel nl80211test.Kernel
	kernel.Set(device(3, "wlan0"), device(4, "wlan1"))
	client, _ := connect(t, &kernel)
	index, err := client.SetQueues("wlan1", twoQueues)
	if err != nil || index != 4 {
		t.Fatalf("%d, %v", index, err)
	}
	if got := kernel.QueueWrites(); !slices.Equal(got, twoQueues) {
		t.Errorf("got %v", got)
	}
	if kernel.Queues(4) != (edca.Values{}).With(twoQueues) || kernel.Queues(3) != (edca.Values{}) {
		t.Errorf("wlan0 has %v, wlan1 has %v", kernel.Queues(3), kernel.Queues(4))
	}
}

// What cfg80211 gets, byte by byte: the types are those of include/uapi/linux/nl80211.h.
func TestTheRequestThatSetsQueues(t *testing.T) {
	var sent []byte
	kernel := device(3, "wlan0").Interface
	client, err := nl80211.New(genltest.Dial(genltest.ServeFamily(
		genetlink.Family{ID: 0x1b, Name: "nl80211", Version: 1},
		func(request genetlink.Message, header netlink.Message) ([]genetlink.Message, error) {
			if request.Header.Command == unix.NL80211_CMD_GET_INTERFACE {
				out := netlink.NewAttributeEncoder()
				out.Uint32(unix.NL80211_ATTR_IFINDEX, kernel.Index)
				out.String(unix.NL80211_ATTR_IFNAME, kernel.Name)
				out.Uint32(unix.NL80211_ATTR_IFTYPE, unix.NL80211_IFTYPE_AP)
				attributes, err := out.Encode()
				return []genetlink.Message{{Data: attributes}}, err
			}
			if request.Header.Command != 2 || header.Header.Flags != netlink.Request|netlink.Acknowledge {
				t.Errorf("command %d, flags %v", request.Header.Command, header.Header.Flags)
			}
			sent = request.Data
			return nil, genltest.Error(0)
		})), func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.SetQueues("wlan0", twoQueues[1:]); err != nil {
		t.Fatal(err)
	}
	want := []byte{
		8, 0, 3, 0, 3, 0, 0, 0, // IFINDEX 3
		48, 0, 0x25, 0x80, // WIPHY_TXQ_PARAMS, nested
		44, 0, 1, 0x80, // the first queue, nested
		5, 0, 1, 0, 2, 0, 0, 0, // AC: best effort
		6, 0, 2, 0, 94, 0, 0, 0, // TXOP
		6, 0, 3, 0, 15, 0, 0, 0, // CWMIN
		6, 0, 4, 0, 0xff, 1, 0, 0, // CWMAX
		5, 0, 5, 0, 5, 0, 0, 0, // AIFS
	}
	if !bytes.Equal(sent, want) {
		t.Errorf("got  %v\nwant %v", sent, want)
	}
}

func TestRefusalsOfTheKernel(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.EOPNOTSUPP, unix.EINVAL, unix.EPERM} {
		var kernel nl80211test.Kernel
		kernel.Set(device(3, "wlan0"))
		kernel.RefuseQueues(errno)
		client, _ := connect(t, &kernel)
		_, err := client.SetQueues("wlan0", twoQueues)
		if !errors.Is(err, errno) || !errors.Is(err, nl80211.ErrRefused) || errors.Is(err, nl80211.ErrNotUp) ||
			!strings.HasPrefix(err.Error(), "set the transmit queues of wlan0: the kernel refuses it: ") {
			t.Errorf("%v: %v", errno, err)
		}
	}
	var kernel nl80211test.Kernel
	kernel.Set(device(3, "wlan0"))
	client, _ := connect(t, &kernel)
	wrong := []edca.Queue{twoQueues[0], {Category: edca.BestEffort}}
	if _, err := client.SetQueues("wlan0", wrong); !errors.Is(err, unix.EINVAL) ||
		!slices.Equal(kernel.QueueWrites(), twoQueues[:1]) {
		t.Errorf("windows of 0: %v, written %v", err, kernel.QueueWrites())
	}
}

func TestAnInterfaceWithoutAnAccessPoint(t *testing.T) {
	down := device(3, "wlan0")
	down.Down = true
	station := device(3, "wlan0")
	station.Interface.Type = unix.NL80211_IFTYPE_STATION
	for name, devices := range map[string][]nl80211test.Device{"down": {down}, "gone": nil, "a station": {station}} {
		var kernel nl80211test.Kernel
		kernel.Set(devices...)
		client, _ := connect(t, &kernel)
		if _, err := client.SetQueues("wlan0", twoQueues); !errors.Is(err, nl80211.ErrNotUp) ||
			errors.Is(err, nl80211.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABrokenConnectionIsNoRefusal(t *testing.T) {
	for _, command := range []uint8{unix.NL80211_CMD_GET_INTERFACE, unix.NL80211_CMD_SET_WIPHY} {
		var kernel nl80211test.Kernel
		kernel.Set(device(3, "wlan0"))
		broken := errors.New("connection reset")
		kernel.Break(command, broken)
		client, _ := connect(t, &kernel)
		if _, err := client.SetQueues("wlan0", twoQueues); !errors.Is(err, broken) ||
			errors.Is(err, nl80211.ErrRefused) || errors.Is(err, nl80211.ErrNotUp) {
			t.Errorf("%d: %v", command, err)
		}
	}
}

// The fake kernel is the same for another process.
func TestAKernelOfAnotherProcess(t *testing.T) {
	var kernel nl80211test.Kernel
	kernel.Set(device(3, "wlan0"))
	path := filepath.Join(t.TempDir(), "kernel")
	closeListener, err := kernel.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nl80211test.DialPath(path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := nl80211.New(conn, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := client.Snapshot("wlan0"); err != nil || len(got.Stations) != 2 || got.Interface.Index != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := client.SetQueues("wlan0", twoQueues); err != nil || !slices.Equal(kernel.QueueWrites(), twoQueues) {
		t.Errorf("%v, written %v", err, kernel.QueueWrites())
	}
	kernel.RefuseQueues(unix.EPERM)
	if _, err := client.SetQueues("wlan0", twoQueues); !errors.Is(err, unix.EPERM) {
		t.Errorf("%v", err)
	}
	if err := closeListener(); err != nil {
		t.Error(err)
	}
}
