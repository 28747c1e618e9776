// SPDX-License-Identifier: Apache-2.0

// Package statedir is the directory of a running phone agent: its lock and its state file.
package statedir

import (
	"github.com/airbound/airbound/internal/identity"
	"github.com/airbound/airbound/internal/statedir"
	"github.com/airbound/airbound/phone-agent/status"
)

const (
	stateName       = "state.json"
	credentialsName = "credentials.json"
)

// ErrRunning means that another agent has locked the directory.
var ErrRunning = statedir.ErrRunning

// Directory is one agent's directory.
type Directory struct{ statedir.Directory }

// New opens and creates nothing yet.
func New(path string) Directory { return Directory{statedir.New(path)} }

// Save replaces the state file as a whole: a reader sees the old or the new one.
func (d Directory) Save(state status.State) error { return d.Directory.Save(stateName, state) }

// Load reads what the last agent wrote; nil if none did.
func (d Directory) Load() (*status.State, error) {
	return statedir.Load(d.Directory, stateName, status.ParseState)
}

// SaveCredentials replaces the file about the agent's certificate.
func (d Directory) SaveCredentials(status identity.Status) error {
	return d.Directory.Save(credentialsName, status)
}

// LoadCredentials reads what the last agent wrote about its certificate; nil if none did.
func (d Directory) LoadCredentials() (*identity.Status, error) {
	return statedir.Load(d.Directory, credentialsName, identity.ParseStatus)
}
