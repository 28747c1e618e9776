// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/edca"
)

// ErrNotUp means that the interface does not exist, is down or is no access point. Its queues then have no parameters
// that could be restored: the kernel and hostapd set their own when it comes up.
var ErrNotUp = errors.New("no access point is up")

// ErrRefused means that the kernel or the driver answered, and refused to set the queues.
var ErrRefused = errors.New("the kernel refuses it")

// SetQueues sets how some transmit queues of the named access point contend for the air, and returns the index of the
// interface. cfg80211 applies one queue after the other: after an error, some may be set.
func (c *Client) SetQueues(name string, queues []edca.Queue) (interfaceIndex uint32, err error) {
	found, err := c.findInterface(name)
	if errors.Is(err, ErrNoInterface) {
		return 0, fmt.Errorf("%w: %w", ErrNotUp, err)
	}
	if err != nil {
		return 0, err
	}
	if found.Type != unix.NL80211_IFTYPE_AP {
		return 0, fmt.Errorf("%w: %s is not an access point now", ErrNotUp, name)
	}
	attributes, err := encodeQueues(found.Index, queues)
	if err != nil {
		return 0, err
	}
	_, err = c.conn.Execute(unix.NL80211_CMD_SET_WIPHY, attributes, netlink.Acknowledge)
	switch {
	case err == nil:
		return found.Index, nil
	case errors.Is(err, unix.ENETDOWN), errors.Is(err, unix.ENODEV):
		err = fmt.Errorf("%w: %w", ErrNotUp, err)
	case answered(err):
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return 0, fmt.Errorf("set the transmit queues of %s: %w", name, err)
}

// nl80211Categories are the kernel's numbers of the access categories.
var nl80211Categories = [...]uint8{
	edca.Background: unix.NL80211_AC_BK, edca.BestEffort: unix.NL80211_AC_BE,
	edca.Video: unix.NL80211_AC_VI, edca.Voice: unix.NL80211_AC_VO,
}

// encodeQueues makes the attributes of an NL80211_CMD_SET_WIPHY. cfg80211 wants every attribute of a queue.
func encodeQueues(interfaceIndex uint32, queues []edca.Queue) ([]byte, error) {
	out := netlink.NewAttributeEncoder()
	out.Uint32(unix.NL80211_ATTR_IFINDEX, interfaceIndex)
	out.Nested(unix.NL80211_ATTR_WIPHY_TXQ_PARAMS, func(list *netlink.AttributeEncoder) error {
		for i, each := range queues {
			list.Nested(uint16(i+1), func(queue *netlink.AttributeEncoder) error {
				queue.Uint8(unix.NL80211_TXQ_ATTR_QUEUE, nl80211Categories[each.Category])
				queue.Uint16(unix.NL80211_TXQ_ATTR_TXOP, each.TXOPLimit)
				queue.Uint16(unix.NL80211_TXQ_ATTR_CWMIN, each.CWMin)
				queue.Uint16(unix.NL80211_TXQ_ATTR_CWMAX, each.CWMax)
				queue.Uint8(unix.NL80211_TXQ_ATTR_AIFS, each.AIFSN)
				return nil
			})
		}
		return nil
	})
	attributes, err := out.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode transmit queues: %w", err)
	}
	return attributes, nil
}
