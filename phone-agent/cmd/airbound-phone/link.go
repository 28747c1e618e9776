// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/airbound/airbound/phone-agent/agent"
	"github.com/airbound/airbound/phone-agent/wifi"
)

// usualInterface is what is tried where the kernel has no nl80211 to ask.
const usualInterface = "wlan0"

// looksForLinks reports whether the kernel is asked for the link at all.
func (o *runOptions) looksForLinks() bool { return o.mac == nil || o.interfaceName != "" }

// currentLink returns the terminal's Wi-Fi interface, its MAC address and its access point. Android uses another
// address for each network, so it is read again whenever that may have changed.
func (o *runOptions) currentLink() (agent.Link, error) {
	if !o.looksForLinks() {
		return agent.Link{MAC: o.mac}, nil
	}
	link, err := findLink(o.interfaceName)
	if err != nil && o.mac == nil {
		return agent.Link{}, err
	}
	if o.mac != nil {
		link.MAC = o.mac
	}
	return link, nil
}

// findLink asks nl80211, and without an answer the kernel's list of all network interfaces, which has no access points.
func findLink(name string) (agent.Link, error) {
	found, wifiErr := askWiFi(name)
	if wifiErr == nil {
		return agent.Link{
			Interface: found.Interface, MAC: found.MAC[:], BSSID: found.BSSID.String(), SSID: found.SSID,
		}, nil
	}
	other := name
	if other == "" {
		other = usualInterface
	}
	device, err := net.InterfaceByName(other)
	switch {
	case err != nil && name == "":
		return agent.Link{}, fmt.Errorf(
			"find the Wi-Fi interface: %w; is Wi-Fi on? --interface names another one", wifiErr,
		)
	case err != nil:
		return agent.Link{}, fmt.Errorf("find interface %s: %w", name, err)
	case len(device.HardwareAddr) != macOctets:
		return agent.Link{}, fmt.Errorf("interface %s has no MAC address", other)
	}
	return agent.Link{Interface: other, MAC: device.HardwareAddr}, nil
}

func askWiFi(name string) (found wifi.Link, err error) {
	client, err := wifi.Dial()
	if err != nil {
		return wifi.Link{}, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	return client.Find(name)
}
