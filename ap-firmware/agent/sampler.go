// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/neighbours"
	"github.com/airbound/airbound/ap-firmware/nl80211"
)

// Sampler reads one BSS from the kernel.
type Sampler interface {
	// Snapshot returns the BSS with its stations and channel.
	Snapshot() (nl80211.Snapshot, error)
	// Addresses returns the IP addresses of the neighbours on an interface, on its VLANs, and on the bridges that they
	// are ports of.
	Addresses(interfaceIndex uint32, vlans ...uint32) (neighbours.Table, error)
}

// Sockets are the two sockets that the BSSs of an access point share: one for nl80211, one for rtnetlink. They are
// opened when they are first needed. Its methods are safe for concurrent use; requests follow one another.
type Sockets struct {
	mutex    sync.Mutex
	wireless connection[*nl80211.Client]
	routing  connection[*neighbours.Client]
	// refuse is who counts malformed messages: the BSS whose request is under way.
	refuse func(error)
}

// NewSockets makes Sockets of the two ways to open one; each gets what to call with a message that had to be refused.
func NewSockets(
	wireless func(malformed func(error)) (*nl80211.Client, error),
	routing func(malformed func(error)) (*neighbours.Client, error),
) *Sockets {
	s := &Sockets{}
	refuse := func(err error) { s.refuse(err) }
	s.wireless.dial = func() (*nl80211.Client, error) { return wireless(refuse) }
	s.routing.dial = func() (*neighbours.Client, error) { return routing(refuse) }
	return s
}

// Close closes the sockets; what uses them afterwards opens them again.
func (s *Sockets) Close() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return errors.Join(s.wireless.close(), s.routing.close())
}

// AccessPoints lists the interfaces that are access points. malformed is called with every message that had to be
// refused.
func (s *Sockets) AccessPoints(malformed func(error)) (found []nl80211.Interface, err error) {
	err = use(s, &s.wireless, malformed, func(client *nl80211.Client) error {
		found, err = client.AccessPoints()
		return err
	})
	return found, err
}

// Kernel is the Sampler of one BSS.
type Kernel struct {
	sockets       *Sockets
	interfaceName string
	refuse        func(error)
}

// Kernel makes the Sampler of the BSS of an interface. malformed is called with every message about the BSS that had to
// be refused.
func (s *Sockets) Kernel(interfaceName string, malformed func(error)) *Kernel {
	return &Kernel{sockets: s, interfaceName: interfaceName, refuse: malformed}
}

// Snapshot implements Sampler.
func (k *Kernel) Snapshot() (snapshot nl80211.Snapshot, err error) {
	err = use(k.sockets, &k.sockets.wireless, k.refuse, func(client *nl80211.Client) error {
		snapshot, err = client.Snapshot(k.interfaceName)
		return err
	})
	if err != nil {
		return nl80211.Snapshot{}, err
	}
	if snapshot.Interface.Type != unix.NL80211_IFTYPE_AP {
		return nl80211.Snapshot{}, fmt.Errorf("%s is not an access point now", k.interfaceName)
	}
	return snapshot, nil
}

// Addresses implements Sampler.
func (k *Kernel) Addresses(interfaceIndex uint32, vlans ...uint32) (table neighbours.Table, err error) {
	err = use(k.sockets, &k.sockets.routing, k.refuse, func(client *neighbours.Client) error {
		table, err = client.Table(interfaceIndex, vlans...)
		return err
	})
	return table, err
}

// SetQueues sets how transmit queues of the access point contend for the air, and returns the interface's index.
func (k *Kernel) SetQueues(queues []edca.Queue) (interfaceIndex uint32, err error) {
	err = use(k.sockets, &k.sockets.wireless, k.refuse, func(client *nl80211.Client) error {
		interfaceIndex, err = client.SetQueues(k.interfaceName, queues)
		return err
	})
	return interfaceIndex, err
}

// connection opens a socket when it is first used, and another one after an error: a late answer on the old socket
// would be taken for that of the next request.
type connection[C io.Closer] struct {
	dial   func() (C, error)
	client C
	open   bool
}

// use makes requests on behalf of a BSS, which refuse belongs to.
func use[C io.Closer](s *Sockets, c *connection[C], refuse func(error), call func(C) error) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.refuse = refuse
	if !c.open {
		client, err := c.dial()
		if err != nil {
			return err
		}
		c.client, c.open = client, true
	}
	err := call(c.client)
	if err != nil && !errors.Is(err, nl80211.ErrNoInterface) { // That is found in a whole answer.
		return errors.Join(err, c.close())
	}
	return err
}

func (c *connection[C]) close() error {
	if !c.open {
		return nil
	}
	c.open = false
	return c.client.Close()
}
