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
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/events"
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

// New makes a client of the file, which need not exist yet; its folder must.
func New(path string) Client { return Client{path: path} }

// Follow implements events.Follower.
func (c Client) Follow(ctx context.Context, report func(events.Report), refused func(error)) error {
	// A file of Go's is not blocking: its Close ends a Read that waits.
	descriptor, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch %s: %w", c.path, err)
	}
	watch := os.NewFile(uintptr(descriptor), "inotify")
	const changes = unix.IN_CLOSE_WRITE | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	if _, err := unix.InotifyAddWatch(descriptor, filepath.Dir(c.path), changes); err != nil {
		return errors.Join(fmt.Errorf("watch the folder of %s: %w", c.path, err), watch.Close())
	}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { closed <- watch.Close() })
	var places events.Places
	c.read(&places, report, refused)
	if c.Watched != nil {
		c.Watched()
	}
	// Room for several events with the longest names. What is in them is not looked at but for the end of the watch:
	// the file is read again after any.
	buffer := make([]byte, 16*(unix.SizeofInotifyEvent+unix.NAME_MAX+1))
	for {
		count, err := watch.Read(buffer)
		if err != nil {
			if stop() {
				return errors.Join(fmt.Errorf("watch %s: %w", c.path, err), watch.Close())
			}
			return <-closed
		}
		c.read(&places, report, refused)
		if isOver(buffer[:count]) {
			if stop() {
				err = watch.Close()
			} else {
				err = <-closed
			}
			return errors.Join(fmt.Errorf("the folder of %s is gone", c.path), err)
		}
	}
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
func Read(path string) (place string, err error) {
	// Not blocking: a named pipe would wait for its writer.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the place: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(fmt.Errorf("read the place: %s is not a file", path), err)
	}
	text, err := io.ReadAll(io.LimitReader(file, octetsMax+1))
	if err != nil {
		return "", fmt.Errorf("read the place: %w", err)
	}
	if len(text) > octetsMax {
		return "", fmt.Errorf("read the place: %s is longer than %d bytes: %w", path, octetsMax, events.ErrRefused)
	}
	if place, err = events.ParsePlaceFile(text); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return place, nil
}
