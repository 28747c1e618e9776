// SPDX-License-Identifier: Apache-2.0

package wifi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/mdlayher/genetlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/wireless"
)

// Link is how the phone is connected to a Wi-Fi network.
type Link struct {
	Interface string
	// MAC is the interface's own. Phones use another for each network.
	MAC Address
	// BSSID and SSID are the access point's and the network's; zero and empty while the phone is connected to none.
	BSSID Address
	SSID  string
}

// ErrNone means that there is no interface that could be connected to a network.
var ErrNone = errors.New("no Wi-Fi interface")

// Client queries nl80211 of the network namespace that it was made in. It is not safe for concurrent use.
type Client struct{ conn *wireless.Conn }

// Dial opens a socket.
func Dial() (*Client, error) {
	conn, err := wireless.Dial()
	if err != nil {
		return nil, err
	}
	return &Client{conn}, nil
}

// New makes a client of a connection, which it closes with Close.
func New(conn *genetlink.Conn) (*Client, error) {
	opened, err := wireless.New(conn)
	if err != nil {
		return nil, err
	}
	return &Client{opened}, nil
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// usual is the name that Android gives to the first interface.
const usual = "wlan0"

// Find returns the link of the named interface. If the name is empty, that of the interface in station mode: one that
// is connected, or else wlan0, or else the one that the kernel had first.
func (c *Client) Find(name string) (Link, error) {
	interfaces, err := dump(c, unix.NL80211_CMD_GET_INTERFACE, 0, ParseInterface)
	if err != nil {
		return Link{}, fmt.Errorf("list wireless interfaces: %w", err)
	}
	candidates := slices.DeleteFunc(interfaces, func(each Interface) bool {
		if name != "" {
			return each.Name != name
		}
		return each.Name == "" || !each.Station
	})
	if len(candidates) == 0 {
		return Link{}, ErrNone
	}
	slices.SortFunc(candidates, func(a, b Interface) int {
		return cmp.Or(-cmp.Compare(boolean(a.Name == usual), boolean(b.Name == usual)), cmp.Compare(a.Index, b.Index))
	})
	var first *Link
	for _, each := range candidates {
		link, err := c.linkOf(each)
		switch {
		case errors.Is(err, unix.ENODEV): // It was removed a moment ago.
			continue
		case err != nil:
			return Link{}, err
		case link.BSSID != (Address{}):
			return link, nil
		case first == nil:
			first = &link
		}
	}
	if first == nil {
		return Link{}, ErrNone
	}
	return *first, nil
}

func boolean(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (c *Client) linkOf(each Interface) (Link, error) {
	link := Link{Interface: each.Name, MAC: each.MAC}
	if !each.Station {
		return link, nil
	}
	peers, err := dump(c, unix.NL80211_CMD_GET_STATION, each.Index, ParsePeer)
	if err != nil {
		// A driver that does not list its access point is of use without that.
		if errors.Is(err, unix.EOPNOTSUPP) {
			return link, nil
		}
		return link, fmt.Errorf("get the access point of %s: %w", each.Name, err)
	}
	if i := slices.IndexFunc(peers, func(peer Peer) bool { return peer.AccessPoint }); i >= 0 {
		link.BSSID, link.SSID = peers[i].MAC, string(each.SSID)
	}
	return link, nil
}

// dump requests a list. A malformed message costs no other; it fails if all are.
func dump[T any](c *Client, command uint8, index uint32, parse func([]byte) (T, error)) ([]T, error) {
	var refused error
	list, err := wireless.Dump(c.conn, command, index, parse, func(err error) { refused = err })
	if err == nil && len(list) == 0 {
		err = refused
	}
	return list, err
}
