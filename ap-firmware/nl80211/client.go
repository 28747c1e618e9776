// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/wireless"
)

// ErrNoInterface means that no wireless interface of this network namespace has the name.
var ErrNoInterface = errors.New("no such wireless interface")

// Client queries nl80211 of the network namespace that it was made in. It is not safe for concurrent use.
type Client struct {
	conn      *wireless.Conn
	malformed func(error)
}

// Snapshot is what the kernel reports of one interface at one time.
type Snapshot struct {
	Interface Interface
	// Survey is that of the channel in use; nil if the driver gives none, and for a multi-link device.
	Survey *Survey
	// LinkSurveys are those of the links of a multi-link device, in their order; nil for one without.
	LinkSurveys []*Survey
	// VLANs are the interfaces that hostapd made for some of the BSS's stations (AP_VLAN): one for each VLAN, and one
	// for each WDS peer.
	VLANs []Interface
	// Stations is the kernel's table, in its order, with those of the VLANs.
	Stations []Station
}

// Indexes are those of the BSS's interface and of its VLANs.
func (s Snapshot) Indexes() []uint32 {
	indexes := make([]uint32, 0, 1+len(s.VLANs))
	indexes = append(indexes, s.Interface.Index)
	for _, each := range s.VLANs {
		indexes = append(indexes, each.Index)
	}
	return indexes
}

// Dial opens a socket. malformed is called with every message that had to be refused.
func Dial(malformed func(error)) (*Client, error) {
	conn, err := wireless.Dial()
	if err != nil {
		return nil, err
	}
	return &Client{conn, malformed}, nil
}

// New makes a client of a connection, which it closes with Close.
func New(conn *genetlink.Conn, malformed func(error)) (*Client, error) {
	opened, err := wireless.New(conn)
	if err != nil {
		return nil, err
	}
	return &Client{opened, malformed}, nil
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Snapshot reads everything about the named interface. Its index is looked up each time: an interface that was removed
// and created again has another one.
func (c *Client) Snapshot(name string) (Snapshot, error) {
	var snapshot Snapshot
	interfaces, err := c.interfaces()
	if err != nil {
		return Snapshot{}, err
	}
	if snapshot.Interface, err = named(interfaces, name); err != nil {
		return Snapshot{}, err
	}
	snapshot.VLANs = vlansOf(interfaces, snapshot.Interface)
	index := snapshot.Interface.Index
	surveys, err := dump(c, unix.NL80211_CMD_GET_SURVEY, index, ParseSurvey)
	switch {
	case err == nil, errors.Is(err, unix.EOPNOTSUPP):
		// A driver without a survey is no error.
	case answered(err):
		// Stations and channel are worth a report without a survey.
		c.malformed(fmt.Errorf("get survey of %s: %w", name, err))
	default:
		return Snapshot{}, fmt.Errorf("get survey of %s: %w", name, err)
	}
	if len(snapshot.Interface.Links) == 0 {
		snapshot.Survey = inUse(surveys, snapshot.Interface.FrequencyMHz)
	}
	for _, link := range snapshot.Interface.Links {
		snapshot.LinkSurveys = append(snapshot.LinkSurveys, ofFrequency(surveys, link.FrequencyMHz))
	}
	if snapshot.Stations, err = dump(c, unix.NL80211_CMD_GET_STATION, index, ParseStation); err != nil {
		return Snapshot{}, fmt.Errorf("get stations of %s: %w", name, err)
	}
	for _, vlan := range snapshot.VLANs {
		stations, err := dump(c, unix.NL80211_CMD_GET_STATION, vlan.Index, ParseStation)
		switch {
		case errors.Is(err, unix.ENODEV): // hostapd removed it a moment ago, with its last station.
		case err != nil:
			return Snapshot{}, fmt.Errorf("get stations of %s: %w", vlan.Name, err)
		}
		snapshot.Stations = appendVLAN(snapshot.Stations, stations, vlan)
	}
	return snapshot, nil
}

// vlansOf returns the VLAN interfaces of an access point's: the kernel wants them to have its address.
func vlansOf(interfaces []Interface, accessPoint Interface) (vlans []Interface) {
	for _, each := range interfaces {
		if each.Type == unix.NL80211_IFTYPE_AP_VLAN && each.Wiphy == accessPoint.Wiphy && each.MAC == accessPoint.MAC {
			vlans = append(vlans, each)
		}
	}
	return vlans
}

// appendVLAN appends the stations of a VLAN, but for those that a driver lists twice, and those on the way to it.
func appendVLAN(all, stations []Station, vlan Interface) []Station {
	for _, station := range stations {
		if slices.ContainsFunc(all, func(other Station) bool { return other.MAC == station.MAC }) {
			continue
		}
		station.VLAN, station.FourAddress = vlan.Name, vlan.FourAddress
		all = append(all, station)
	}
	return all
}

// answered reports whether the error is the kernel's answer, so that the connection is intact.
func answered(err error) bool {
	var operation *netlink.OpError
	for errors.As(err, &operation) {
		if operation.Sequence != 0 {
			return true
		}
		err = operation.Err
	}
	return false
}

// AccessPoints lists the interfaces that are access points now, whether a BSS is up on them or not.
func (c *Client) AccessPoints() ([]Interface, error) {
	interfaces, err := c.interfaces()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(interfaces, func(each Interface) bool {
		return each.Type != unix.NL80211_IFTYPE_AP || each.Index == 0 || each.Name == ""
	}), nil
}

func (c *Client) findInterface(name string) (Interface, error) {
	interfaces, err := c.interfaces()
	if err != nil {
		return Interface{}, err
	}
	return named(interfaces, name)
}

func (c *Client) interfaces() ([]Interface, error) {
	const ofAll = 0
	interfaces, err := dump(c, unix.NL80211_CMD_GET_INTERFACE, ofAll, ParseInterface)
	if err != nil {
		return nil, fmt.Errorf("list wireless interfaces: %w", err)
	}
	return interfaces, nil
}

func named(interfaces []Interface, name string) (Interface, error) {
	for _, each := range interfaces {
		if each.Name == name {
			return each, nil
		}
	}
	return Interface{}, fmt.Errorf("find %s in this network namespace: %w", name, ErrNoInterface)
}

// inUse prefers the survey that the driver reports as in use; some drivers report none as such.
func inUse(surveys []Survey, frequencyMHz uint32) *Survey {
	var ofFrequency *Survey
	for i := range surveys {
		switch each := &surveys[i]; {
		case each.ActiveMS == nil:
		case each.InUse:
			return each
		case each.FrequencyMHz == frequencyMHz:
			ofFrequency = each
		}
	}
	return ofFrequency
}

// ofFrequency returns the survey of a link: a multi-link device has several in use.
func ofFrequency(surveys []Survey, frequencyMHz uint32) *Survey {
	for i := range surveys {
		if each := &surveys[i]; each.ActiveMS != nil && each.FrequencyMHz == frequencyMHz {
			return each
		}
	}
	return nil
}

// dump requests a list. A malformed message costs no other.
func dump[T any](c *Client, command uint8, interfaceIndex uint32, parse func([]byte) (T, error)) ([]T, error) {
	return wireless.Dump(c.conn, command, interfaceIndex, parse, c.malformed)
}
