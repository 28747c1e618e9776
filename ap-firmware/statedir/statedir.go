// SPDX-License-Identifier: Apache-2.0

// Package statedir is the directory of a running access point agent: its lock, its state file, and the record of the
// own values that must be written back if the agent ends without doing so.
package statedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/identity"
	"github.com/airbound/airbound/internal/statedir"
)

const (
	stateName       = "state.json"
	recordName      = "edca.json"
	credentialsName = "credentials.json"
	checkName       = "check.json"
)

// ErrRunning means that another agent has locked the directory.
var ErrRunning = statedir.ErrRunning

// Directory is one agent's directory.
type Directory struct{ statedir.Directory }

// New opens and creates nothing yet. An access point has an agent for each BSS: each has a directory of its own below
// the parent, named after the BSS's interface.
func New(parent, interfaceName string) Directory {
	return Directory{statedir.New(filepath.Join(parent, interfaceName))}
}

// Interfaces lists the interfaces that have a directory below the parent, sorted.
func Interfaces(parent string) ([]string, error) {
	entries, err := os.ReadDir(parent)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the agents' state directories: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// SaveState replaces the state file as a whole.
func (d Directory) SaveState(state status.State) error { return d.Save(stateName, state) }

// LoadState reads what the last agent wrote; nil if none did.
func (d Directory) LoadState() (*status.State, error) {
	return statedir.Load(d.Directory, stateName, status.ParseState)
}

// SaveRecord replaces the record as a whole.
func (d Directory) SaveRecord(record edca.Record) error { return d.Save(recordName, record) }

// LoadRecord reads the record; nil if there is nothing to write back.
func (d Directory) LoadRecord() (*edca.Record, error) {
	return statedir.Load(d.Directory, recordName, edca.ParseRecord)
}

// RemoveRecord follows the writing back.
func (d Directory) RemoveRecord() error { return d.Remove(recordName) }

// SaveCredentials replaces the file about the agent's certificate.
func (d Directory) SaveCredentials(status identity.Status) error {
	return d.Save(credentialsName, status)
}

// LoadCredentials reads what the last agent wrote about its certificate; nil if none did.
func (d Directory) LoadCredentials() (*identity.Status, error) {
	return statedir.Load(d.Directory, credentialsName, identity.ParseStatus)
}

// SaveCheckRequest leaves a request for the agent; a later one replaces it.
func (d Directory) SaveCheckRequest(request status.CheckRequest) error {
	return d.Save(checkName, request)
}

// TakeCheckRequest reads the request and removes it; nil if there is none.
func (d Directory) TakeCheckRequest() (*status.CheckRequest, error) {
	request, err := statedir.Load(d.Directory, checkName, status.ParseCheckRequest)
	if request == nil && err == nil {
		return nil, nil //nolint:nilnil // none is an answer, not an error
	}
	// One that cannot be read would be there for ever.
	return request, errors.Join(err, d.Remove(checkName))
}
