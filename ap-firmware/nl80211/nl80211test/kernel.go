// SPDX-License-Identifier: Apache-2.0

// Package nl80211test is a fake kernel with nl80211 but without radios. It interprets the requests that it gets.
package nl80211test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/internal/wireless/wirelesstest"
)

// Kernel answers dumps of interfaces, surveys and stations, and sets transmit queues. Its methods are safe for
// concurrent use.
type Kernel struct {
	mu      sync.Mutex
	devices []Device
	refusal syscall.Errno
	broken  map[uint8]error
	garbage [][]byte
	queues  transmitQueues
}

// Device is an interface with what is behind it.
type Device struct {
	Interface nl80211.Interface
	// Down is whether the network interface is not up.
	Down     bool
	Surveys  []nl80211.Survey
	Stations []nl80211.Station
}

// Set replaces all devices of the kernel.
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

// RefuseSurveys makes the driver answer with an error; EOPNOTSUPP is that of one that has none.
func (k *Kernel) RefuseSurveys(err syscall.Errno) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refusal = err
}

// Break makes the connection fail, not the kernel, when a request for a command (NL80211_CMD_*) is answered; nil ends
// that.
func (k *Kernel) Break(command uint8, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken == nil {
		k.broken = map[uint8]error{}
	}
	k.broken[command] = err
}

// Dial connects to the kernel.
func (k *Kernel) Dial() *genetlink.Conn { return dial(k.answer) }

// dial makes a connection whose requests are answered by a function.
func dial(answer genltest.Func) *genetlink.Conn {
	return genltest.Dial(genltest.ServeFamily(wirelesstest.Family(), func(
		request genetlink.Message, header netlink.Message,
	) ([]genetlink.Message, error) {
		messages, err := answer(request, header)
		if errno, isAnswer := errors.AsType[acknowledgement](err); isAnswer {
			return nil, genltest.Error(int(errno))
		}
		return messages, err
	}))
}

// acknowledgement is how the kernel answers a request that is no dump; 0 is success.
type acknowledgement syscall.Errno

// Error implements error.
func (a acknowledgement) Error() string { return "kernel: " + syscall.Errno(a).Error() }

func (k *Kernel) answer(request genetlink.Message, header netlink.Message) ([]genetlink.Message, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if header.Header.Type != netlink.HeaderType(wirelesstest.Family().ID) {
		return nil, syscall.ENOENT
	}
	if err := k.broken[request.Header.Command]; err != nil {
		return nil, err
	}
	if request.Header.Command == unix.NL80211_CMD_SET_WIPHY {
		return nil, k.setWiphy(request.Data, header.Header.Flags)
	}
	if wanted := netlink.Request | netlink.Dump; header.Header.Flags&wanted != wanted {
		return nil, syscall.EINVAL
	}
	if request.Header.Command == unix.NL80211_CMD_GET_INTERFACE {
		return k.interfaces(request.Data)
	}
	device := k.device(request.Data)
	if device == nil {
		return nil, syscall.ENODEV
	}
	switch request.Header.Command {
	case unix.NL80211_CMD_GET_STATION:
		messages, err := encodeAll(unix.NL80211_CMD_NEW_STATION, device.Stations, EncodeStation)
		for _, attributes := range k.garbage {
			messages = append(messages, wirelesstest.Message(unix.NL80211_CMD_NEW_STATION, attributes))
		}
		return orEOF(messages, err)
	case unix.NL80211_CMD_GET_SURVEY:
		if k.refusal != 0 {
			// genltest cannot refuse a dump: this is what a connection makes of the kernel's refusal.
			return nil, &netlink.OpError{Op: "receive", Err: k.refusal, Sequence: header.Header.Sequence}
		}
		return orEOF(encodeAll(unix.NL80211_CMD_NEW_SURVEY_RESULTS, device.Surveys, encodeSurvey))
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
		if decoder.Type() != unix.NL80211_ATTR_IFINDEX {
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

// interfaces lists the interfaces. The kernel skips those of other radios if the request names one: a request for all
// must have no attributes.
func (k *Kernel) interfaces(attributes []byte) ([]genetlink.Message, error) {
	if len(attributes) > 0 {
		return nil, syscall.EINVAL
	}
	list := make([]nl80211.Interface, len(k.devices))
	for i := range k.devices {
		list[i] = k.devices[i].Interface
	}
	return orEOF(encodeAll(unix.NL80211_CMD_NEW_INTERFACE, list, encodeInterface))
}

func encodeAll[T any](command uint8, list []T, encode func(T) ([]byte, error)) ([]genetlink.Message, error) {
	messages := make([]genetlink.Message, 0, len(list))
	for _, each := range list {
		attributes, err := encode(each)
		if err != nil {
			return nil, fmt.Errorf("encode answer: %w", err)
		}
		messages = append(messages, wirelesstest.Message(command, attributes))
	}
	return messages, nil
}

// orEOF ends an empty dump as genltest requires it.
func orEOF(messages []genetlink.Message, err error) ([]genetlink.Message, error) {
	if err == nil && len(messages) == 0 {
		return nil, io.EOF
	}
	return messages, err
}

// stationFlags is struct nl80211_sta_flag_update with AUTHORIZED, WME, AUTHENTICATED and ASSOCIATED in its mask.
func stationFlags(associated, isAuthorized, wmm bool) []byte {
	const (
		authorized    = 1 << unix.NL80211_STA_FLAG_AUTHORIZED
		hasWMM        = 1 << unix.NL80211_STA_FLAG_WME
		authenticated = 1 << unix.NL80211_STA_FLAG_AUTHENTICATED
		isAssociated  = 1 << unix.NL80211_STA_FLAG_ASSOCIATED
	)
	set := uint32(authenticated)
	if associated {
		set |= isAssociated
	}
	if isAuthorized {
		set |= authorized
	}
	if wmm {
		set |= hasWMM
	}
	flags := binary.NativeEndian.AppendUint32(nil, authorized|hasWMM|authenticated|isAssociated)
	return binary.NativeEndian.AppendUint32(flags, set)
}
