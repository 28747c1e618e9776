// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
)

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
