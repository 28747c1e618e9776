// SPDX-License-Identifier: Apache-2.0

// Package wifitest is a fake kernel with nl80211 but without radios. It interprets the requests that it gets.
package wifitest

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/wireless"
	"github.com/airbound/airbound/internal/wireless/wirelesstest"
	"github.com/airbound/airbound/phone-agent/wifi"
)

// Device is an interface with the entries of its station table.
type Device struct {
	wifi.Interface

	Peers []Peer
	// Garbage adds a message that is cut to the station table.
	Garbage bool
	// PeersRefused is the driver's answer to a request for them; 0 lists them.
	PeersRefused syscall.Errno
	// CanAdmit is whether the driver can be given admitted time, Demands whether its access point demands admission.
	CanAdmit, Demands bool
	// StreamRefused is the driver's answer to any request about admitted time, if it is not 0.
	StreamRefused syscall.Errno
}

// Stream is an admitted traffic stream, as mac80211 has at most one for an access category.
type Stream struct {
	Peer         wifi.Address
	ID, Priority uint8
	// Units is the admitted time, of 32 us of each second.
	Units uint16
}

// Peer is an entry of the station table with bits 1<<NL80211_STA_FLAG_*; NoFlags leaves them out.
type Peer struct {
	MAC     wifi.Address
	Flags   uint32
	NoFlags bool
}

// Associated is the flags of an access point that the interface is associated with, and WMM that it has WMM.
const (
	Associated = 1<<unix.NL80211_STA_FLAG_AUTHENTICATED | 1<<unix.NL80211_STA_FLAG_ASSOCIATED
	WMM        = 1 << unix.NL80211_STA_FLAG_WME
)

// Kernel answers dumps of interfaces and stations, and sends events. Its methods are safe for concurrent use.
type Kernel struct {
	mu      sync.Mutex
	devices []Device
	// streams are those of devices, by their index.
	streams map[uint32]Stream
	events  wirelesstest.Events
}

// Set replaces all devices.
func (k *Kernel) Set(devices ...Device) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.devices = devices
}

// Associate forgets the admitted streams, as mac80211 does with each association.
func (k *Kernel) Associate() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.streams)
}

// SetStream is another program's request.
func (k *Kernel) SetStream(index uint32, wanted Stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.streams == nil {
		k.streams = map[uint32]Stream{}
	}
	k.streams[index] = wanted
}

// Stream returns that of a device; zero without one.
func (k *Kernel) Stream(index uint32) Stream {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.streams[index]
}

// Dial connects to the kernel.
func (k *Kernel) Dial() *genetlink.Conn {
	return genltest.Dial(genltest.ServeFamily(wirelesstest.Family(), k.answer))
}

func (k *Kernel) answer(request genetlink.Message, header netlink.Message) ([]genetlink.Message, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if header.Header.Type != netlink.HeaderType(wirelesstest.Family().ID) {
		return nil, syscall.ENOENT
	}
	switch request.Header.Command {
	case unix.NL80211_CMD_ADD_TX_TS, unix.NL80211_CMD_DEL_TX_TS:
		if header.Header.Flags != netlink.Request|netlink.Acknowledge {
			return nil, syscall.EINVAL
		}
		return nil, genltest.Error(int(k.changeStream(request))) // 0 is success.
	}
	if wanted := netlink.Request | netlink.Dump; header.Header.Flags&wanted != wanted {
		return nil, syscall.EINVAL
	}
	switch request.Header.Command {
	case unix.NL80211_CMD_GET_INTERFACE:
		// The kernel skips those of other radios if the request names one: a request for all must have no attributes.
		if len(request.Data) > 0 {
			return nil, syscall.EINVAL
		}
		return encodeAll(unix.NL80211_CMD_NEW_INTERFACE, k.devices, EncodeInterface)
	case unix.NL80211_CMD_GET_STATION:
		i := slices.IndexFunc(k.devices, func(device Device) bool {
			return slices.Equal(request.Data, encoded(func(out *netlink.AttributeEncoder) {
				out.Uint32(unix.NL80211_ATTR_IFINDEX, device.Index)
			}))
		})
		refusal := syscall.ENODEV
		if i >= 0 {
			refusal = k.devices[i].PeersRefused
		}
		if refusal != 0 {
			// genltest cannot refuse a dump: this is what a connection makes of the kernel's refusal.
			return nil, &netlink.OpError{Op: "receive", Err: refusal, Sequence: header.Header.Sequence}
		}
		messages, err := encodeAll(unix.NL80211_CMD_NEW_STATION, k.devices[i].Peers, EncodePeer)
		if k.devices[i].Garbage {
			return append(messages, wirelesstest.Message(unix.NL80211_CMD_NEW_STATION, []byte{1, 2, 3})), nil
		}
		return messages, err
	case unix.NL80211_CMD_GET_WIPHY:
		return k.radio(request.Data)
	default:
		return nil, syscall.EOPNOTSUPP
	}
}

// radio answers in parts, of which only one has the flags.
func (k *Kernel) radio(attributes []byte) ([]genetlink.Message, error) {
	i := slices.IndexFunc(k.devices, func(device Device) bool {
		return slices.Equal(attributes, encoded(func(out *netlink.AttributeEncoder) {
			out.Uint32(unix.NL80211_ATTR_IFINDEX, device.Index)
			out.Flag(unix.NL80211_ATTR_SPLIT_WIPHY_DUMP, true)
		}))
	})
	if i < 0 {
		return nil, syscall.EINVAL
	}
	part := func(add func(*netlink.AttributeEncoder)) []byte {
		return encoded(func(out *netlink.AttributeEncoder) {
			out.Uint32(unix.NL80211_ATTR_WIPHY, 0)
			add(out)
		})
	}
	flags := ^uint32(unix.NL80211_FEATURE_SUPPORTS_WMM_ADMISSION)
	if k.devices[i].CanAdmit {
		flags = unix.NL80211_FEATURE_SUPPORTS_WMM_ADMISSION
	}
	return []genetlink.Message{
		wirelesstest.Message(unix.NL80211_CMD_NEW_WIPHY, part(func(*netlink.AttributeEncoder) {})),
		wirelesstest.Message(unix.NL80211_CMD_NEW_WIPHY, part(func(out *netlink.AttributeEncoder) {
			out.Uint32(unix.NL80211_ATTR_FEATURE_FLAGS, flags)
		})),
		wirelesstest.Message(unix.NL80211_CMD_NEW_WIPHY, part(func(out *netlink.AttributeEncoder) {
			out.Uint8(unix.NL80211_ATTR_MAX_NUM_SCAN_SSIDS, 4)
		})),
	}, nil
}

// changeStream does what nl80211 and mac80211 do: nl80211_add_tx_ts, ieee80211_add_tx_ts and those that remove.
func (k *Kernel) changeStream(request genetlink.Message) syscall.Errno {
	decoder, err := netlink.NewAttributeDecoder(request.Data)
	if err != nil {
		return syscall.EINVAL
	}
	var index uint32
	var wanted Stream
	for decoder.Next() {
		switch decoder.Type() {
		case unix.NL80211_ATTR_IFINDEX:
			index = decoder.Uint32()
		case unix.NL80211_ATTR_MAC:
			copy(wanted.Peer[:], decoder.Bytes())
		case unix.NL80211_ATTR_TSID:
			wanted.ID = decoder.Uint8()
		case unix.NL80211_ATTR_USER_PRIO:
			wanted.Priority = decoder.Uint8()
		case unix.NL80211_ATTR_ADMITTED_TIME:
			wanted.Units = decoder.Uint16()
		}
	}
	i := slices.IndexFunc(k.devices, func(device Device) bool { return device.Index == index })
	now, has := k.streams[index]
	const idEnd = 8
	switch {
	case decoder.Err() != nil, wanted.Peer == (wifi.Address{}), wanted.ID >= idEnd:
		return syscall.EINVAL
	case i < 0:
		return syscall.ENODEV
	case k.devices[i].StreamRefused != 0:
		return k.devices[i].StreamRefused
	case !k.devices[i].CanAdmit:
		return syscall.EOPNOTSUPP
	case !slices.ContainsFunc(k.devices[i].Peers, func(peer Peer) bool { return peer.MAC == wanted.Peer }):
		return syscall.ENOTCONN
	case request.Header.Command == unix.NL80211_CMD_DEL_TX_TS && (!has || now.ID != wanted.ID):
		return syscall.ENOENT
	case request.Header.Command == unix.NL80211_CMD_DEL_TX_TS:
		delete(k.streams, index)
		return 0
	case !k.devices[i].Demands, wanted.Units == 0:
		return syscall.EINVAL
	case has:
		return syscall.EBUSY
	}
	if k.streams == nil {
		k.streams = map[uint32]Stream{}
	}
	k.streams[index] = wanted
	return 0
}

func encodeAll[T any](command uint8, list []T, encode func(T) []byte) ([]genetlink.Message, error) {
	messages := make([]genetlink.Message, len(list))
	for i, each := range list {
		messages[i] = wirelesstest.Message(command, encode(each))
	}
	if len(messages) == 0 {
		return nil, io.EOF // This is how genltest wants an empty dump.
	}
	return messages, nil
}

func encoded(encode func(*netlink.AttributeEncoder)) []byte {
	out := netlink.NewAttributeEncoder()
	encode(out)
	attributes, err := out.Encode()
	if err != nil {
		return []byte(fmt.Sprint(err)) // What a parser refuses.
	}
	return attributes
}

// EncodeInterface returns what the kernel sends for an interface.
func EncodeInterface(device Device) []byte {
	return encoded(func(out *netlink.AttributeEncoder) {
		out.Uint32(unix.NL80211_ATTR_IFINDEX, device.Index)
		if device.Name != "" {
			out.String(unix.NL80211_ATTR_IFNAME, device.Name)
		}
		out.Uint32(unix.NL80211_ATTR_WIPHY, 0)
		kind := uint32(unix.NL80211_IFTYPE_AP)
		if device.Station {
			kind = unix.NL80211_IFTYPE_STATION
		}
		out.Uint32(unix.NL80211_ATTR_IFTYPE, kind)
		out.Bytes(unix.NL80211_ATTR_MAC, device.MAC[:])
		if len(device.SSID) > 0 {
			out.Bytes(unix.NL80211_ATTR_SSID, device.SSID)
		}
	})
}

// EncodePeer returns what the kernel sends for an entry of the station table.
func EncodePeer(peer Peer) []byte {
	return encoded(func(out *netlink.AttributeEncoder) {
		out.Bytes(unix.NL80211_ATTR_MAC, peer.MAC[:])
		out.Nested(unix.NL80211_ATTR_STA_INFO, func(info *netlink.AttributeEncoder) error {
			info.Int8(unix.NL80211_STA_INFO_SIGNAL, -50)
			if !peer.NoFlags {
				const known = Associated | WMM | 1<<unix.NL80211_STA_FLAG_TDLS_PEER
				info.Bytes(unix.NL80211_STA_INFO_STA_FLAGS,
					binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, known), peer.Flags))
			}
			return nil
		})
	})
}

// DialEvents opens a socket for events.
func (k *Kernel) DialEvents() (wireless.EventSource, error) { return k.events.Dial() }

// Dialled counts the sockets for events so far.
func (k *Kernel) Dialled() int { return k.events.Dialled() }

// Send sends an event of the group "mlme" about an interface, to sockets that are open.
func (k *Kernel) Send(command uint8, index uint32) {
	k.events.Send(command, encoded(func(out *netlink.AttributeEncoder) {
		out.Uint32(unix.NL80211_ATTR_WIPHY, 0)
		out.Uint32(unix.NL80211_ATTR_IFINDEX, index)
	}))
}

// Fail makes every socket for events fail; each must be closed and another opened.
func (k *Kernel) Fail(err error) { k.events.Fail(err) }
