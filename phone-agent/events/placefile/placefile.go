// SPDX-License-Identifier: Apache-2.0

// Package placefile reports arrivals by a file that a script or an app writes: the base station's id has changed. An
// LTE handover changes neither a link nor an address, and only the telephony service of the system knows it.
//
// The file is watched by inotify, so that a phone that stays where it is wakes nothing. It may be written in place or
// be replaced by rename.
package placefile

import (
	"context"
	"errors"
	"fmt"

	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/filewatch"
)

// octetsMax is the most that is read of a file.
const octetsMax = 4096

// Client follows a file.
type Client struct {
	path string
	// Watched is called when changes of the file are noticed from now on; nil: nobody needs that.
	Watched func()
}

var _ events.Follower = Client{}

// New makes a client of the file, which need not exist yet, nor need its folder.
func New(path string) Client { return Client{path: path} }

// Follow implements events.Follower.
func (c Client) Follow(ctx context.Context, report func(events.Report), refused func(error)) error {
	var places events.Places
	watched := c.Watched
	return filewatch.Follow(ctx, c.path, func() {
		c.read(&places, report, refused)
		if watched != nil {
			watched()
			watched = nil
		}
	})
}

// read reads the file. One that is not there has no place.
func (c Client) read(places *events.Places, report func(events.Report), refused func(error)) {
	place, err := Read(c.path)
	if err != nil {
		refused(err)
		return
	}
	if places.Read(place) {
		report(events.Report{Kind: events.BaseStation, Place: place})
	}
}

// Read reads the place in a file; empty if there is no file.
func Read(path string) (string, error) {
	text, err := filewatch.Read(path, octetsMax)
	switch {
	case errors.Is(err, filewatch.ErrTooLong):
		return "", fmt.Errorf("read the place: %w: %w", err, events.ErrRefused)
	case err != nil:
		return "", fmt.Errorf("read the place: %w", err)
	case text == nil:
		return "", nil
	}
	place, err := events.ParsePlaceFile(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return place, nil
}
