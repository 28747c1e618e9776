// SPDX-License-Identifier: Apache-2.0

package nl80211test

import (
	"fmt"
	"maps"
	"slices"
	"syscall"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/edca"
)

// transmitQueues is the parameters of each interface's queues, by the interface's index.
type transmitQueues struct {
	values  map[uint32]edca.Values
	writes  []edca.Queue
	refusal syscall.Errno
}

// SetQueues sets the parameters of an interface's queues, as hostapd does when it starts.
func (k *Kernel) SetQueues(interfaceIndex uint32, values edca.Values) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.queues.values == nil {
		k.queues.values = map[uint32]edca.Values{}
	}
	k.queues.values[interfaceIndex] = values
}

// Queues returns the parameters of an interface's queues.
func (k *Kernel) Queues(interfaceIndex uint32) edca.Values {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.queues.values[interfaceIndex]
}

// QueueWrites returns what requests have set, in order.
func (k *Kernel) QueueWrites() []edca.Queue {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.queues.writes)
}

// RefuseQueues makes the kernel refuse to set queues: EOPNOTSUPP is that of a driver that cannot, EPERM that of a
// process without CAP_NET_ADMIN. 0 ends that.
func (k *Kernel) RefuseQueues(err syscall.Errno) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queues.refusal = err
}

// setWiphy interprets an NL80211_CMD_SET_WIPHY as nl80211_set_wiphy of net/wireless/nl80211.c and
// ieee80211_set_txq_params of net/mac80211/cfg.c do. It sets nothing but transmit queues.
func (k *Kernel) setWiphy(attributes []byte, flags netlink.HeaderFlags) acknowledgement {
	if wanted := netlink.Request | netlink.Acknowledge; flags&wanted != wanted || flags&netlink.Dump != 0 {
		return acknowledgement(syscall.EINVAL)
	}
	device := k.device(attributes)
	switch {
	case k.queues.refusal != 0:
		return acknowledgement(k.queues.refusal)
	case device == nil:
		return acknowledgement(syscall.ENODEV)
	case device.Interface.Type != unix.NL80211_IFTYPE_AP:
		return acknowledgement(syscall.EINVAL)
	case device.Down:
		return acknowledgement(syscall.ENETDOWN)
	}
	queues, err := decodeQueues(attributes)
	if k.queues.values == nil {
		k.queues.values = map[uint32]edca.Values{}
	}
	index := device.Interface.Index
	k.queues.values[index] = k.queues.values[index].With(queues) // Those before the first that is wrong are set.
	k.queues.writes = append(k.queues.writes, queues...)
	if err != nil {
		return acknowledgement(syscall.EINVAL)
	}
	return 0
}

var kernelCategories = map[uint8]edca.Category{
	unix.NL80211_AC_BK: edca.Background, unix.NL80211_AC_BE: edca.BestEffort,
	unix.NL80211_AC_VI: edca.Video, unix.NL80211_AC_VO: edca.Voice,
}

func decodeQueues(attributes []byte) ([]edca.Queue, error) {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return nil, fmt.Errorf("decode request: %w", err)
	}
	var queues []edca.Queue
	for decoder.Next() {
		if decoder.Type() != unix.NL80211_ATTR_WIPHY_TXQ_PARAMS {
			continue
		}
		decoder.Nested(func(list *netlink.AttributeDecoder) error {
			for list.Next() {
				list.Nested(func(attributes *netlink.AttributeDecoder) error {
					queue, err := decodeQueue(attributes)
					if err == nil {
						queues = append(queues, queue)
					}
					return err
				})
			}
			return nil
		})
	}
	return queues, decoder.Err()
}

func decodeQueue(attributes *netlink.AttributeDecoder) (edca.Queue, error) {
	var queue edca.Queue
	missing := map[uint16]string{
		unix.NL80211_TXQ_ATTR_QUEUE: "AC", unix.NL80211_TXQ_ATTR_TXOP: "TXOP", unix.NL80211_TXQ_ATTR_CWMIN: "CWMIN",
		unix.NL80211_TXQ_ATTR_CWMAX: "CWMAX", unix.NL80211_TXQ_ATTR_AIFS: "AIFS",
	}
	known := true
	for attributes.Next() {
		delete(missing, attributes.Type())
		switch attributes.Type() {
		case unix.NL80211_TXQ_ATTR_QUEUE:
			queue.Category, known = kernelCategories[attributes.Uint8()]
		case unix.NL80211_TXQ_ATTR_TXOP:
			queue.TXOPLimit = attributes.Uint16()
		case unix.NL80211_TXQ_ATTR_CWMIN:
			queue.CWMin = attributes.Uint16()
		case unix.NL80211_TXQ_ATTR_CWMAX:
			queue.CWMax = attributes.Uint16()
		case unix.NL80211_TXQ_ATTR_AIFS:
			queue.AIFSN = attributes.Uint8()
		}
	}
	switch err := attributes.Err(); {
	case err != nil:
		return queue, err
	case len(missing) > 0:
		return queue, fmt.Errorf("no %v", slices.Sorted(maps.Values(missing)))
	case !known:
		return queue, fmt.Errorf("queue %v is unknown", queue)
	case queue.CWMin == 0 || queue.CWMin > queue.CWMax:
		return queue, fmt.Errorf("window from %d to %d", queue.CWMin, queue.CWMax)
	}
	return queue, nil
}
