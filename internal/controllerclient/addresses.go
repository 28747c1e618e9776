// SPDX-License-Identifier: Apache-2.0

package controllerclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// nextAddressAfter is how long an address may take to answer before the next one is tried beside it. It is longer than
// the 250 ms of RFC 8305 because a full cell has an RTT of more than that.
const nextAddressAfter = time.Second

// lastAddress is where the last connection of an agent led.
type lastAddress struct {
	mu      sync.Mutex
	address netip.AddrPort
}

func (l *lastAddress) get() netip.AddrPort {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.address
}

func (l *lastAddress) set(address netip.AddrPort) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.address = address
}

// connect opens a TCP connection to one of the controllers. It resolves their names anew and tries their addresses in
// random order, so that agents spread over them, until one accepts. The last one in use is tried last: it is left
// because it is gone, or hangs with its port open, or sends the agent elsewhere.
func connect(ctx context.Context, controllers []string, last *lastAddress, dial dialer) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	addresses, err := resolveAll(ctx, controllers)
	if len(addresses) == 0 {
		return nil, err
	}
	swap := func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] }
	rand.Shuffle(len(addresses), swap) //nolint:gosec // spreading needs no secrecy
	if i := slices.Index(addresses, last.get()); i >= 0 {
		swap(i, len(addresses)-1)
	}
	conn, address, err := first(ctx, addresses, dial)
	if err == nil {
		last.set(address)
	}
	return conn, err
}

// resolveAll returns all addresses that become known before names which take long; an error only if there are none.
func resolveAll(ctx context.Context, controllers []string) ([]netip.AddrPort, error) {
	type resolved struct {
		addresses []netip.AddrPort
		err       error
	}
	results := make(chan resolved, len(controllers))
	for _, controller := range controllers {
		go func() {
			addresses, err := resolve(ctx, controller)
			results <- resolved{addresses, err}
		}()
	}
	var all []netip.AddrPort
	var errs []error
	var enough <-chan time.Time
	for range controllers {
		select {
		case result := <-results:
			all = append(all, result.addresses...)
			if result.err != nil {
				errs = append(errs, result.err)
			} else if enough == nil {
				enough = time.After(nextAddressAfter)
			}
		case <-enough:
			return all, nil
		}
	}
	return all, joined(errs)
}

func resolve(ctx context.Context, controller string) ([]netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(controller)
	if err != nil {
		return nil, fmt.Errorf("read the address %s: %w", controller, err)
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return nil, fmt.Errorf("read the port of %s: %w", controller, err)
	}
	// The resolver drops zones.
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.AddrPort{netip.AddrPortFrom(address, uint16(port))}, nil //nolint:gosec // ports have 16 bits
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", host, err)
	}
	addresses := make([]netip.AddrPort, len(found))
	for i, address := range found {
		addresses[i] = netip.AddrPortFrom(address.Unmap(), uint16(port)) //nolint:gosec // ports have 16 bits
	}
	return addresses, nil
}

// first dials addresses, the next one when one has failed or takes long, and returns the first connection.
func first(ctx context.Context, addresses []netip.AddrPort, dial dialer) (net.Conn, netip.AddrPort, error) {
	ctx, cancel := context.WithCancel(ctx)
	type result struct {
		conn    net.Conn
		address netip.AddrPort
		err     error
	}
	results := make(chan result, len(addresses))
	var errs []error
	started, ended := 0, 0
	// The others end with the context; one may have connected in the same moment.
	defer func() {
		cancel()
		late := started - ended
		go func() {
			for range late {
				if other := <-results; other.conn != nil {
					_ = other.conn.Close()
				}
			}
		}()
	}()
	next := time.NewTimer(0)
	defer next.Stop()
	for ended < len(addresses) {
		select {
		case <-next.C:
			if started == len(addresses) {
				continue
			}
			address := addresses[started]
			started++
			go func() {
				conn, err := dial(ctx, address.String())
				results <- result{conn, address, err}
			}()
			next.Reset(nextAddressAfter)
		case got := <-results:
			ended++
			if got.err == nil {
				return got.conn, got.address, nil
			}
			errs = append(errs, got.err)
			next.Reset(0)
		}
	}
	return nil, netip.AddrPort{}, joined(errs)
}

// joined is one line, and the same one whatever the order of the errors is, each with the next step.
func joined(errs []error) error {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error() + ": " + Unreachable(err)
	}
	slices.Sort(texts)
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}
