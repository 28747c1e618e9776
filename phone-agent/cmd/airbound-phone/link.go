// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"airbound/phone-agent/agent"
)

// lookupTimeout bounds the resolution of a controller that is given by name.
const lookupTimeout = 2 * time.Second

// macOf tells the terminal's MAC address, in lower case with colons.
func macOf(options runOptions) (string, error) {
	if options.mac != "" {
		return options.mac, nil
	}
	found, err := net.InterfaceByName(options.interfaceName)
	if err != nil {
		return "", fmt.Errorf("find interface %s: %w", options.interfaceName, err)
	}
	if len(found.HardwareAddr) != 6 {
		return "", fmt.Errorf("interface %s has no MAC address", options.interfaceName)
	}
	return found.HardwareAddr.String(), nil
}

// linkOf learns who this terminal is and where the controller is. What cannot be learnt now stays as it was.
func linkOf(ctx context.Context, options runOptions, before agent.Link) (agent.Link, error) {
	link := before
	mac, err := macOf(options)
	if err != nil {
		return link, err
	}
	link.MAC = mac
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	controllers, err := resolve(ctx, options.controller)
	if err != nil {
		return link, err
	}
	link.Controllers = controllers
	return link, nil
}

func resolve(ctx context.Context, address string) ([]netip.AddrPort, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("split the controller's address: %w", err)
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", portText)
	if err != nil {
		return nil, fmt.Errorf("look up the controller's port: %w", err)
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up the controller: %w", err)
	}
	endpoints := make([]netip.AddrPort, len(addresses))
	for i, found := range addresses {
		endpoints[i] = netip.AddrPortFrom(found, uint16(port)) //nolint:gosec // LookupPort gives 0 to 65535
	}
	return endpoints, nil
}
