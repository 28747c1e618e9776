// SPDX-License-Identifier: Apache-2.0

// Package nl80211test has a kernel with nl80211 but without radios. It interprets the requests that it gets.
package nl80211test

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"syscall"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"

	"github.com/airbound/airbound/ap-firmware/nl80211"
)

var family = genetlink.Family{ID: 0x1b, Name: "nl80211", Version: 1}

// Kernel answers dumps of interfaces, surveys and stations. Its methods are safe for concurrent use.
type Kernel struct {
	mu      sync.Mutex
	devices []Device
	refusal syscall.Errno
	garbage [][]byte
}

// Device is an interface with what is behind it.
type Device struct {
	Interface nl80211.Interface
	Surveys   []nl80211.Survey
	Stations  []nl80211.Station
}

// Set replaces everything that the kernel knows.
func (k *Kernel) Set(devices ...Device) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.devices = devices
}

// SetGarbage adds messages with these attributes to each dump of stations.
func (k *Kernel) SetGarbage(attributes ...[]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.garbage = attributes
}

// RefuseSurveys makes the driver answer so; EOPNOTSUPP is that of one that has none.
func (k *Kernel) RefuseSurveys(err syscall.Errno) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refusal = err
}

// Dial connects to the kernel.
func (k *Kernel) Dial() *genetlink.Conn { return genltest.Dial(genltest.ServeFamily(family, k.answer)) }

func (k *Kernel) answer(request genetlink.Message, header netlink.Message) ([]genetlink.Message, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if header.Header.Type != netlink.HeaderType(family.ID) {
		return nil, syscall.ENOENT
	}
	if wanted := netlink.Request | netlink.Dump; header.Header.Flags&wanted != wanted {
		return nil, syscall.EINVAL
	}
	const newInterface, newStation, newSurvey = 7, 19, 51
	if request.Header.Command == 5 {
		return k.interfaces(newInterface)
	}
	device := k.device(request.Data)
	if device == nil {
		return nil, syscall.ENODEV
	}
	switch request.Header.Command {
	case 17:
		messages, err := encodeAll(newStation, device.Stations, EncodeStation)
		for _, attributes := range k.garbage {
			messages = append(messages, message(newStation, attributes))
		}
		return orEOF(messages, err)
	case 50:
		if k.refusal != 0 {
			// genltest cannot refuse a dump: the connection makes this of the kernel's message.
			return nil, &netlink.OpError{Op: "receive", Err: k.refusal, Sequence: header.Header.Sequence}
		}
		return orEOF(encodeAll(newSurvey, device.Surveys, encodeSurvey))
	default:
		return nil, syscall.EOPNOTSUPP
	}
}

// device finds the one that the request names by its index.
func (k *Kernel) device(attributes []byte) *Device {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return nil
	}
	for decoder.Next() {
		if decoder.Type() != 3 {
			continue
		}
		index := decoder.Uint32()
		for i := range k.devices {
			if k.devices[i].Interface.Index == index && decoder.Err() == nil {
				return &k.devices[i]
			}
		}
	}
	return nil
}

func (k *Kernel) interfaces(command uint8) ([]genetlink.Message, error) {
	list := make([]nl80211.Interface, len(k.devices))
	for i := range k.devices {
		list[i] = k.devices[i].Interface
	}
	return orEOF(encodeAll(command, list, encodeInterface))
}

func encodeAll[T any](command uint8, list []T, encode func(T) ([]byte, error)) ([]genetlink.Message, error) {
	messages := make([]genetlink.Message, 0, len(list))
	for _, each := range list {
		attributes, err := encode(each)
		if err != nil {
			return nil, fmt.Errorf("encode answer: %w", err)
		}
		messages = append(messages, message(command, attributes))
	}
	return messages, nil
}

func message(command uint8, attributes []byte) genetlink.Message {
	return genetlink.Message{Header: genetlink.Header{Command: command, Version: family.Version}, Data: attributes}
}

// orEOF ends an empty dump as genltest wants it.
func orEOF(messages []genetlink.Message, err error) ([]genetlink.Message, error) {
	if err == nil && len(messages) == 0 {
		return nil, io.EOF
	}
	return messages, err
}

func macOctets(mac string) []byte {
	octets := make([]byte, 6)
	// A MAC that is no MAC becomes a wrong one, which the test that set it will see.
	_, _ = fmt.Sscanf(mac, "%02x:%02x:%02x:%02x:%02x:%02x",
		&octets[0], &octets[1], &octets[2], &octets[3], &octets[4], &octets[5])
	return octets
}

// stationFlags is struct nl80211_sta_flag_update with AUTHORIZED, AUTHENTICATED and ASSOCIATED in its mask.
func stationFlags(associated bool) []byte {
	const authorized, authenticated, isAssociated = 1 << 1, 1 << 5, 1 << 7
	set := uint32(authenticated)
	if associated {
		set |= authorized | isAssociated
	}
	flags := binary.NativeEndian.AppendUint32(nil, authorized|authenticated|isAssociated)
	return binary.NativeEndian.AppendUint32(flags, set)
}
