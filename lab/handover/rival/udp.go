// SPDX-License-Identifier: Apache-2.0

package rival

import (
	"context"
	"fmt"
	"net"

	"github.com/airbound/airbound/lab/handover/record"
)

// udp sends each record once. Nothing can arrive earlier; what is lost never arrives.
type udp struct {
	nothing

	env    *Env
	socket *net.UDPConn
}

// Start opens both sockets.
func (u *udp) Start(ctx context.Context, env *Env) error {
	u.env = env
	server, err := listenUDP(env.Server, net.UDPAddrFromAddrPort(env.Remote))
	if err != nil {
		return err
	}
	err = env.Phone.In(func() error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "udp", env.Remote.String())
		if err != nil {
			return fmt.Errorf("dial: %w", err)
		}
		u.socket, _ = conn.(*net.UDPConn)
		return nil
	})
	if err != nil {
		return err
	}
	go func() {
		buffer := make([]byte, 2*record.Bytes)
		for {
			length, _, err := server.ReadFromUDPAddrPort(buffer)
			if err != nil {
				env.Failed(fmt.Errorf("receive by UDP: %w", err))
				return
			}
			env.Deliver(append([]byte(nil), buffer[:length]...))
		}
	}()
	return nil
}

// Send sends a record.
func (u *udp) Send(data []byte) {
	u.env.Written(data)
	if _, err := u.socket.Write(data); err != nil {
		u.env.Failed(fmt.Errorf("send by UDP: %w", err))
	}
}

func listenUDP(host Host, address *net.UDPAddr) (*net.UDPConn, error) {
	var socket *net.UDPConn
	err := host.In(func() error {
		made, err := net.ListenUDP("udp", address)
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		socket = made
		return nil
	})
	return socket, err
}
