// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"

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

// Kernel is the Sampler of a network namespace's kernel. It opens its sockets when they are first needed.
type Kernel struct {
	interfaceName string
	wireless      connection[*nl80211.Client]
	routing       connection[*neighbours.Client]
}

// NewKernel makes a Kernel of the two ways to open a socket.
func NewKernel(
	interfaceName string, wireless func() (*nl80211.Client, error), routing func() (*neighbours.Client, error),
) *Kernel {
	return &Kernel{
		interfaceName: interfaceName,
		wireless: connection[*nl80211.Client]{
			dial: wireless,
		},
		routing: connection[*neighbours.Client]{dial: routing},
	}
}

// Snapshot implements Sampler.
func (k *Kernel) Snapshot() (snapshot nl80211.Snapshot, err error) {
	err = k.wireless.use(func(client *nl80211.Client) error {
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
	err = k.routing.use(func(client *neighbours.Client) error {
		table, err = client.Table(interfaceIndex, vlans...)
		return err
	})
	return table, err
}

// SetQueues sets how transmit queues of the access point contend for the air, and returns the interface's index.
func (k *Kernel) SetQueues(queues []edca.Queue) (interfaceIndex uint32, err error) {
	err = k.wireless.use(func(client *nl80211.Client) error {
		interfaceIndex, err = client.SetQueues(k.interfaceName, queues)
		return err
	})
	return interfaceIndex, err
}

// Close closes the sockets.
func (k *Kernel) Close() error { return errors.Join(k.wireless.close(), k.routing.close()) }

// connection opens a socket when it is first used, and another one after an error: a late answer on the old socket
// would be taken for that of the next request.
type connection[C io.Closer] struct {
	dial   func() (C, error)
	client C
	open   bool
}

func (c *connection[C]) use(call func(C) error) error {
	if !c.open {
		client, err := c.dial()
		if err != nil {
			return err
		}
		c.client, c.open = client, true
	}
	if err := call(c.client); err != nil {
		return errors.Join(err, c.close())
	}
	return nil
}

func (c *connection[C]) close() error {
	if !c.open {
		return nil
	}
	c.open = false
	return c.client.Close()
}
