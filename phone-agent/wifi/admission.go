// SPDX-License-Identifier: Apache-2.0

package wifi

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/flows"
)

const (
	// videoPriority is the user priority of IEEE 802.1D whose access category is AC_VI. The traffic stream has its
	// number as well.
	videoPriority = 5
	// admittedUnitUS is what NL80211_ATTR_ADMITTED_TIME counts in, of each second (IEEE Std 802.11-2020, 9.4.2.29).
	admittedUnitUS = 32
)

// Admission is the flows.Admission of this kernel. In Linux's mac80211 (ieee80211_add_tx_ts of net/mac80211/cfg.c) the
// access point's beacon says whether it demands admission, and a station that has none sends in a lower category.
type Admission struct {
	// Dial opens a client.
	Dial func() (*Client, error)
	// What the driver was given last.
	given stream
}

// stream is an admitted traffic stream.
type stream struct {
	index  uint32
	peer   Address
	usPerS uint32
}

var _ flows.Admission = (*Admission)(nil)

// ErrNoAdmission means that the driver cannot be given admitted time.
var ErrNoAdmission = errors.New("the driver has no WMM admission (NL80211_FEATURE_SUPPORTS_WMM_ADMISSION)")

// Supported returns nil if the driver of an interface can be given admitted time, or why not.
func (a *Admission) Supported(interfaceName string) (err error) {
	client, err := a.Dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	wanted, _, err := client.station(interfaceName)
	if err != nil {
		return err
	}
	parts, err := client.radio(wanted.Index)
	switch {
	case err != nil:
		return fmt.Errorf("get the radio of %s: %w", interfaceName, err)
	case !slices.Contains(parts, true):
		return ErrNoAdmission
	}
	return nil
}

// Admit implements flows.Admission.
func (a *Admission) Admit(interfaceName string, usPerS uint32) (admitted bool, err error) {
	if usPerS == 0 && a.given == (stream{}) {
		return false, nil
	}
	client, err := a.Dial()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	wanted, peer, err := client.station(interfaceName)
	if err != nil {
		return false, err
	}
	next := stream{wanted.Index, peer.MAC, usPerS}
	if a.given != (stream{}) && a.given != next {
		// Without the association there is none any more.
		if err := client.removeStream(a.given); err != nil && !isForgotten(err) {
			return false, fmt.Errorf("remove the admitted time of %s: %w", interfaceName, err)
		}
		a.given = stream{}
	}
	switch {
	case usPerS == 0, !peer.AccessPoint:
		return false, nil
	case !peer.WMM:
		return false, errors.New("the access point has no WMM")
	}
	switch err := client.addStream(next); {
	case errors.Is(err, unix.EBUSY) && a.given != next:
		return false, errors.New("another program has had time admitted")
	case err == nil, errors.Is(err, unix.EBUSY):
		a.given = next
		return true, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTCONN):
		// The access point does not demand admission, and the driver keeps what it has; or there is none any more.
		return false, nil
	case errors.Is(err, unix.EOPNOTSUPP):
		return false, ErrNoAdmission
	default:
		return false, fmt.Errorf("have time admitted on %s: %w", interfaceName, err)
	}
}

func isForgotten(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ENODEV) ||
		errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL)
}

// station returns the named interface and its access point; Peer.AccessPoint is false without one.
func (c *Client) station(name string) (Interface, Peer, error) {
	interfaces, err := dump(c, unix.NL80211_CMD_GET_INTERFACE, 0, ParseInterface)
	if err != nil {
		return Interface{}, Peer{}, fmt.Errorf("list wireless interfaces: %w", err)
	}
	i := slices.IndexFunc(interfaces, func(each Interface) bool { return name != "" && each.Name == name })
	if i < 0 {
		return Interface{}, Peer{}, ErrNone
	}
	peers, err := dump(c, unix.NL80211_CMD_GET_STATION, interfaces[i].Index, ParsePeer)
	if err != nil {
		return Interface{}, Peer{}, fmt.Errorf("get the access point of %s: %w", name, err)
	}
	if j := slices.IndexFunc(peers, func(peer Peer) bool { return peer.AccessPoint }); j >= 0 {
		return interfaces[i], peers[j], nil
	}
	return interfaces[i], Peer{}, nil
}

// radio returns, of each part of what the kernel says of an interface's radio, whether admission is in it. In one part
// it would not fit into a message.
func (c *Client) radio(index uint32) ([]bool, error) {
	request, err := encode(func(out *netlink.AttributeEncoder) {
		out.Uint32(unix.NL80211_ATTR_IFINDEX, index)
		out.Flag(unix.NL80211_ATTR_SPLIT_WIPHY_DUMP, true)
	})
	if err != nil {
		return nil, err
	}
	messages, err := c.conn.Execute(unix.NL80211_CMD_GET_WIPHY, request, netlink.Dump)
	if err != nil {
		return nil, err
	}
	parts := make([]bool, 0, len(messages))
	for _, message := range messages {
		can, err := ParseAdmission(message.Data)
		if err != nil {
			return nil, err
		}
		parts = append(parts, can)
	}
	return parts, nil
}

func (c *Client) addStream(wanted stream) error {
	request, err := encode(func(out *netlink.AttributeEncoder) {
		wanted.encode(out)
		out.Uint8(unix.NL80211_ATTR_USER_PRIO, videoPriority)
		//nolint:gosec // a second has 31 250 units
		out.Uint16(unix.NL80211_ATTR_ADMITTED_TIME, uint16(max(1, wanted.usPerS/admittedUnitUS)))
	})
	if err != nil {
		return err
	}
	_, err = c.conn.Execute(unix.NL80211_CMD_ADD_TX_TS, request, netlink.Acknowledge)
	return err
}

func (c *Client) removeStream(given stream) error {
	request, err := encode(given.encode)
	if err != nil {
		return err
	}
	_, err = c.conn.Execute(unix.NL80211_CMD_DEL_TX_TS, request, netlink.Acknowledge)
	return err
}

func (s stream) encode(out *netlink.AttributeEncoder) {
	out.Uint32(unix.NL80211_ATTR_IFINDEX, s.index)
	out.Bytes(unix.NL80211_ATTR_MAC, s.peer[:])
	out.Uint8(unix.NL80211_ATTR_TSID, videoPriority)
}

func encode(add func(*netlink.AttributeEncoder)) ([]byte, error) {
	out := netlink.NewAttributeEncoder()
	add(out)
	attributes, err := out.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return attributes, nil
}

// RealKernel is the nl80211 of this network namespace.
func RealKernel() *Admission { return &Admission{Dial: Dial} }
