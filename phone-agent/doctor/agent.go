// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"github.com/airbound/airbound/internal/identity"
	"github.com/airbound/airbound/phone-agent/status"
)

const agentPart = "agent"

// Agent looks at what the agent itself wrote last; both are nil if none did.
func Agent(running bool, state *status.State, certificate *identity.Status) Finding {
	trouble := ""
	if certificate != nil && certificate.LastError != "" {
		trouble = "; " + certificate.LastError
	}
	switch {
	case !running:
		return warning(agentPart, "start it when nothing below has failed", "not running%s", trouble)
	case state == nil:
		return warning(agentPart, "wait some seconds, and see its log",
			"running; it has not written its state yet%s", trouble)
	case !state.Connected:
		return warning(agentPart, "see connection and certificate below, and its log",
			"running, not connected to a controller%s", trouble)
	case trouble != "":
		return warning(agentPart, "see certificate below", "running and connected%s", trouble)
	default:
		return ok(agentPart, "running and connected")
	}
}

// Configuration is a finding about --config; err is what is wrong with it or with the flags, path is empty without a
// file.
func Configuration(path string, err error) Finding {
	const part = "configuration"
	switch {
	case err != nil:
		return failure(part, "mend it; `airbound-phone run --help` has the keys and an example", "%v", err)
	case path == "":
		return ok(part, "no file")
	default:
		return ok(part, "%s", path)
	}
}

// WiFi is a finding about the interface; err is why there is none. bssid is empty if it is connected to no network or
// if that is not known.
func WiFi(name, mac, bssid, ssid string, err error) Finding {
	const part = "Wi-Fi"
	switch {
	case err != nil:
		return failure(part, "turn Wi-Fi on, or name the interface with --interface", "%v", err)
	case name == "":
		return ok(part, "%s, by --mac", mac)
	case bssid == "":
		return warning(part, "connect to the network, unless it is and the driver does not say so",
			"%s, %s, not connected to an access point", name, mac)
	default:
		return ok(part, "%s, %s, connected to %q, access point %s", name, mac, ssid, bssid)
	}
}

// Names is a finding about a controller's name that cannot be resolved.
func Names(name, advice string) Finding {
	return failure(connectionPart, advice, "the name %s cannot be resolved", name)
}
