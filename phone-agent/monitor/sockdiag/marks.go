// SPDX-License-Identifier: Apache-2.0

package sockdiag

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/airbound/airbound/phone-agent/monitor"
)

// Marks is the monitor.Marker of a kernel whose connections come from elsewhere. The zero value is ready: nothing is
// opened until DSCPs are asked for. It is for one goroutine.
type Marks struct{ socket *Socket }

// Mark implements monitor.Marker.
func (m *Marks) Mark(snapshot *monitor.Snapshot) error {
	if m.socket == nil {
		socket, err := Open(func() uint64 { return 0 })
		if err != nil {
			return fmt.Errorf("read DSCPs: %w", err)
		}
		m.socket = socket
	}
	known, err := m.socket.Snapshot()
	if err != nil {
		return errors.Join(fmt.Errorf("read DSCPs: %w", err), m.Close())
	}
	type ends struct{ local, remote netip.AddrPort }
	marked := make(map[ends]uint8)
	for i := range known.Connections {
		if each := &known.Connections[i]; each.DSCP != 0 {
			marked[ends{each.Local, each.Remote}] = each.DSCP
		}
	}
	for i := range snapshot.Connections {
		each := &snapshot.Connections[i]
		each.DSCP = marked[ends{each.Local, each.Remote}]
	}
	return nil
}

// Close closes what was opened; the next Mark opens it again.
func (m *Marks) Close() error {
	if m.socket == nil {
		return nil
	}
	err := m.socket.Close()
	m.socket = nil
	return err
}
