// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/statedir"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/guard"
)

// agentState is the running agent's state directory, and what was in it.
type agentState struct {
	directory statedir.Directory
	unlock    func() error
	left      *edca.Record
	// off is why no EDCA parameters can be set; empty if they can.
	off string
	// Whether the directory cannot be used. Reports need none.
	unusable bool
}

// openState locks the state directory. Without one there are reports, but no EDCA parameters are set: they could not be
// undone after a crash.
func openState(options runOptions, interfaceName string, refuse func(error), logger *slog.Logger) (agentState, error) {
	state := agentState{
		directory: statedir.New(options.state.parent, interfaceName), unlock: func() error { return nil },
	}
	if options.noEDCA {
		state.off = "switched off on the access point"
	}
	unlock, err := state.directory.Lock()
	switch {
	case errors.Is(err, statedir.ErrRunning):
		return state, err
	case err != nil:
		state.unusable = true
		if state.off == "" {
			state.off = fmt.Sprintf("the state directory cannot be used: %v", err)
			logger.Warn("cannot set EDCA parameters without a state directory", "error", err)
		}
		return state, nil
	}
	state.unlock = unlock
	state.left, err = state.directory.LoadRecord()
	if err == nil && state.left != nil && state.left.Interface != interfaceName {
		err = fmt.Errorf("the record of own values is that of %s, not of %s",
			state.left.Interface, interfaceName)
		state.left = nil
	}
	if err != nil { // It cannot be used: hostapd's next start restores the own values.
		refuse(err)
		if err := state.directory.RemoveRecord(); err != nil {
			logger.Warn("cannot remove a record that was refused", "error", err)
		}
	}
	return state, nil
}

// edca is what the agent sets EDCA parameters with.
func (s agentState) edca(
	options runOptions, interfaceName string, setQueues func([]edca.Queue) (uint32, error), radios *agent.Radios,
	refuse func(error),
) agent.EDCA {
	name := rand.Text()
	settings := func() *hostapd.Settings { return nil }
	if len(options.hostapdConfig) > 0 {
		settings = hostapd.NewConfigFile(options.hostapdConfig, interfaceName, refuse).Read
	}
	save := s.directory.SaveState
	if s.unusable {
		save = func(status.State) error { return nil }
	}
	return agent.EDCA{
		Off: s.off, Settings: settings, ConfigPath: strings.Join(options.hostapdConfig, ", "), SetQueues: setQueues,
		Announce: func(before edca.Values, queues []edca.Queue) (bool, error) {
			return hostapd.Announce(options.controlOf(interfaceName), interfaceName, before, queues, refuse)
		},
		Records: s.directory, Left: s.left, Guard: guard.New(guardArguments(options, interfaceName, name)...),
		State: status.State{
			Version: version, PID: os.Getpid(), Controller: options.controller.String(),
			Interface: interfaceName,
		},
		SaveState: save, AgentName: name, Radios: radios,
	}
}
