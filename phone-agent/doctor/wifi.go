// SPDX-License-Identifier: Apache-2.0

package doctor

import "github.com/airbound/airbound/internal/diagnosis"

// WiFi is a finding about the interface; err is why there is none. bssid is empty if it is connected to no network or
// if that is not known.
func WiFi(name, mac, bssid, ssid string, err error) diagnosis.Finding {
	const part = "Wi-Fi"
	switch {
	case err != nil:
		return diagnosis.Fail(part, "turn Wi-Fi on, or name the interface with --interface", "%v", err)
	case name == "":
		return diagnosis.Good(part, "%s, by --mac", mac)
	case bssid == "":
		return diagnosis.Warn(part, "connect to the network, unless it is and the driver does not say so",
			"%s, %s, not connected to an access point", name, mac)
	default:
		return diagnosis.Good(part, "%s, %s, connected to %q, access point %s", name, mac, ssid, bssid)
	}
}
