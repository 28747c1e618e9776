// SPDX-License-Identifier: Apache-2.0

package arrival_test

import (
	"encoding/binary"
	"flag"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

var roundTrip = flag.Duration("rtt", 0, "round trip between phone and server in TestSilenceOfDownloads")

// A frame comes with a header (struct virtio_net_hdr): whether it is several segments, and whether it has its checksum.
const virtioHeader = 10

const frameMax = virtioHeader + 1<<17

// join joins two interfaces of the test's namespace by a wire on which frames take so long each way.
func (c cell) join(first, second string, oneWay time.Duration) {
	c.t.Helper()
	ends := [2]*os.File{c.tap(first), c.tap(second)}
	for i, from := range ends {
		type frame struct {
			due    time.Time
			octets []byte
		}
		under := make(chan frame, 1<<12)
		go func() {
			defer close(under)
			for buffer := make([]byte, frameMax); ; {
				count, err := from.Read(buffer)
				if err != nil {
					return // It is closed.
				}
				under <- frame{time.Now().Add(oneWay), append([]byte(nil), buffer[:count]...)}
			}
		}()
		go func(to *os.File) {
			for next := range under {
				time.Sleep(time.Until(next.due))
				_, _ = to.Write(next.octets) // One that does not fit is lost.
			}
		}(ends[1-i])
	}
}

// tap is a socket for all frames that come by an interface, and for those that are to leave by it.
func (c cell) tap(name string) *os.File {
	c.t.Helper()
	device, err := net.InterfaceByName(name)
	if err != nil {
		c.t.Fatal(err)
	}
	var all [2]byte
	binary.BigEndian.PutUint16(all[:], unix.ETH_P_ALL)
	protocol := binary.NativeEndian.Uint16(all[:])
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	made := os.NewFile(uintptr(socket), name)
	c.t.Cleanup(func() { _ = made.Close() })
	for _, option := range []int{unix.PACKET_VNET_HDR, unix.PACKET_IGNORE_OUTGOING} {
		if err := unix.SetsockoptInt(socket, unix.SOL_PACKET, option, 1); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: device.Index}); err != nil {
		c.t.Fatal(err)
	}
	return made
}
