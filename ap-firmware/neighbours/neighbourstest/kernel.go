// SPDX-License-Identifier: Apache-2.0

// Package neighbourstest has a kernel with links and a neighbour table but without networks. It interprets the requests
// that it gets.
package neighbourstest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"syscall"

	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nltest"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/neighbours"
)

// Kernel answers RTM_GETLINK and dumps of neighbours. Its methods are safe for concurrent use.
type Kernel struct {
	mutex   sync.Mutex
	masters map[uint32]uint32
	entries []neighbours.Neighbour
	garbage [][]byte
	refusal syscall.Errno
	copies  int
}

// SetLink adds a link; master is the bridge that it is a port of, 0 for none.
func (k *Kernel) SetLink(index, master uint32) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.masters == nil {
		k.masters = map[uint32]uint32{}
	}
	k.masters[index] = master
}

// Set replaces the neighbour table.
func (k *Kernel) Set(entries ...neighbours.Neighbour) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.entries = entries
}

// SetGarbage adds messages with these payloads to each dump.
func (k *Kernel) SetGarbage(payloads ...[]byte) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.garbage = payloads
}

// Refuse makes every request fail; 0 ends that.
func (k *Kernel) Refuse(err syscall.Errno) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.refusal = err
}

// SetLinkCopies makes the answer to RTM_GETLINK so many messages more than one.
func (k *Kernel) SetLinkCopies(copies int) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.copies = copies
}

// Dial connects to the kernel.
func (k *Kernel) Dial() *netlink.Conn { return nltest.Dial(k.answer) }

func (k *Kernel) answer(requests []netlink.Message) ([]netlink.Message, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if len(requests) == 0 {
		return nil, nil // The second read of a dump: nltest has its end.
	}
	request := requests[0]
	if k.refusal != 0 {
		return nltest.Error(int(k.refusal), requests)
	}
	switch request.Header.Type {
	case unix.RTM_GETLINK:
		return k.link(request, requests)
	case unix.RTM_GETNEIGH:
		if request.Header.Flags&netlink.Dump != netlink.Dump || len(request.Data) < unix.SizeofNdMsg {
			return nltest.Error(int(unix.EINVAL), requests)
		}
		return k.table(request)
	default:
		return nltest.Error(int(unix.EOPNOTSUPP), requests)
	}
}

func (k *Kernel) link(request netlink.Message, requests []netlink.Message) ([]netlink.Message, error) {
	if len(request.Data) < unix.SizeofIfInfomsg {
		return nltest.Error(int(unix.EINVAL), requests)
	}
	const indexAt = 4
	index := binary.NativeEndian.Uint32(request.Data[indexAt:])
	master, known := k.masters[index]
	if !known {
		return nltest.Error(int(unix.ENODEV), requests)
	}
	payload, err := EncodeLink(index, master)
	if err != nil {
		return nil, err
	}
	return slices.Repeat([]netlink.Message{reply(request, unix.RTM_NEWLINK, payload)}, 1+k.copies), nil
}

func (k *Kernel) table(request netlink.Message) ([]netlink.Message, error) {
	messages := make([]netlink.Message, 0, len(k.entries)+len(k.garbage))
	for _, entry := range k.entries {
		payload, err := EncodeNeighbour(entry)
		if err != nil {
			return nil, err
		}
		messages = append(messages, reply(request, unix.RTM_NEWNEIGH, payload))
	}
	for _, payload := range k.garbage {
		messages = append(messages, reply(request, unix.RTM_NEWNEIGH, payload))
	}
	messages = append(messages, reply(request, netlink.Done, make([]byte, 4)))
	for i := range messages {
		messages[i].Header.Flags |= netlink.Multi
	}
	return messages, nil
}

func reply(request netlink.Message, kind netlink.HeaderType, payload []byte) netlink.Message {
	header := netlink.Header{Type: kind, Sequence: request.Header.Sequence, PID: request.Header.PID}
	return netlink.Message{Header: header, Data: payload}
}

// EncodeLink returns what the kernel sends for a link.
func EncodeLink(index, master uint32) ([]byte, error) {
	const indexAt = 4
	payload := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(payload[indexAt:], index)
	attributes := netlink.NewAttributeEncoder()
	attributes.String(unix.IFLA_IFNAME, fmt.Sprintf("if%d", index))
	if master != 0 {
		attributes.Uint32(unix.IFLA_MASTER, master)
	}
	return encode(payload, attributes)
}

// EncodeNeighbour returns what the kernel sends for an entry of the neighbour table.
func EncodeNeighbour(entry neighbours.Neighbour) ([]byte, error) {
	const indexAt, stateAt = 4, 8
	payload := make([]byte, unix.SizeofNdMsg)
	payload[0] = unix.AF_BRIDGE
	attributes := netlink.NewAttributeEncoder()
	if entry.IP.IsValid() {
		payload[0] = unix.AF_INET
		if entry.IP.Is6() {
			payload[0] = unix.AF_INET6
		}
		attributes.Bytes(unix.NDA_DST, entry.IP.AsSlice())
	}
	binary.NativeEndian.PutUint32(payload[indexAt:], entry.InterfaceIndex)
	binary.NativeEndian.PutUint16(payload[stateAt:], entry.State)
	if entry.MAC != (mac.Address{}) {
		attributes.Bytes(unix.NDA_LLADDR, entry.MAC[:])
	}
	return encode(payload, attributes)
}

func encode(payload []byte, attributes *netlink.AttributeEncoder) ([]byte, error) {
	encoded, err := attributes.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode attributes: %w", err)
	}
	return append(payload, encoded...), nil
}
