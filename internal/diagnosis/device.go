// SPDX-License-Identifier: Apache-2.0

package diagnosis

import "github.com/airbound/airbound/internal/identity"

// Device is whose agent is looked at.
type Device struct {
	// Program is the agent's name: "airbound-ap".
	Program string
	// Role is that of its certificate.
	Role string
}

// enrolAgain is how a device gets a certificate, or another one.
func (d Device) enrolAgain() string {
	return "run `airbound enroll " + d.Role + " NAME` where the controller runs, and `" + d.Program +
		" join STRING` here with the string that it prints; then start the agent again"
}

// Configuration is a finding about the configuration; err is what is wrong with it or with the flags. Where is empty if
// there are flags alone.
func (d Device) Configuration(where string, err error) Finding {
	const part = "configuration"
	switch {
	case err != nil:
		return Fail(part, "correct it; `"+d.Program+" run --help` has all settings, with examples", "%v", err)
	case where == "":
		return Good(part, "no file, flags alone")
	default:
		return Good(part, "%s", where)
	}
}

const agentPart = "agent"

// State is what the agent wrote last about itself and its certificate.
type State struct {
	Running bool
	// Known is whether the agent has written anything about its connection.
	Known, Connected bool
	// Error is what went wrong last, and not again since.
	Error       string
	Certificate *identity.Status
}

// Agent is a finding about the agent by what it wrote last. Only there is the controller's answer to a token: doctor
// cannot ask for another, since that would use the token.
func (d Device) Agent(state State) Finding {
	trouble, remedy := state.Error, ""
	if certificate := state.Certificate; certificate != nil && certificate.LastError != "" {
		trouble, remedy = certificate.LastError, certificate.LastErrorCode.Advice()
	}
	do := func(otherwise string) string {
		if remedy != "" {
			return remedy
		}
		return otherwise
	}
	if trouble != "" {
		trouble = "; " + trouble
	}
	switch {
	case !state.Running:
		return Warn(agentPart, do("start it when nothing below has failed"), "not running%s", trouble)
	case !state.Known:
		return Warn(agentPart, do("wait some seconds, and see its log"), "running; it has not written its state yet%s",
			trouble)
	case !state.Connected:
		return Warn(agentPart, do("see connection and certificate below, and its log"),
			"running, not connected to a controller%s", trouble)
	case trouble != "":
		return Warn(agentPart, do("see certificate below, and its log"), "running and connected%s", trouble)
	default:
		return Good(agentPart, "running and connected")
	}
}

// Unreadable is a finding about an agent's status that cannot be read.
func (d Device) Unreadable(err error) Finding {
	return Fail(agentPart, "run doctor as the user of the agent, or start the agent again: it replaces files that are "+
		"damaged", "its status cannot be read: %v", err)
}

// Names is a finding about a controller's name that cannot be resolved.
func Names(name, advice string) Finding {
	return Fail(connectionPart, advice, "the name %s cannot be resolved", name)
}
