// SPDX-License-Identifier: Apache-2.0

// Package filewatch notices that a file may have changed, by inotify: nothing is polled, and a file that stays as it is
// is not read again. It may be written in place or be replaced by rename, and need not exist.
package filewatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Follow calls changed once when changes are noticed from now on, and when the file may have changed, until the context
// ends. Its folder must exist; without it, or when it is gone, Follow returns an error. If the file is a symbolic link,
// only the link is watched.
func Follow(ctx context.Context, path string, changed func()) error {
	// A file of Go's is not blocking: its Close ends a Read that waits.
	descriptor, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	watch := os.NewFile(uintptr(descriptor), "inotify")
	const changes = unix.IN_CLOSE_WRITE | unix.IN_MOVED_TO | unix.IN_DELETE | unix.IN_MOVED_FROM |
		unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	if _, err := unix.InotifyAddWatch(descriptor, filepath.Dir(path), changes); err != nil {
		return errors.Join(fmt.Errorf("watch the folder of %s: %w", path, err), watch.Close())
	}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { closed <- watch.Close() })
	changed()
	// Room for several events with the longest names.
	buffer := make([]byte, 16*(unix.SizeofInotifyEvent+unix.NAME_MAX+1))
	for {
		count, err := watch.Read(buffer)
		if err != nil {
			if stop() {
				return errors.Join(fmt.Errorf("watch %s: %w", path, err), watch.Close())
			}
			return <-closed
		}
		isChanged, isOver := parse(buffer[:count], filepath.Base(path))
		if isChanged {
			changed()
		}
		if isOver {
			if stop() {
				err = watch.Close()
			} else {
				err = <-closed
			}
			return errors.Join(fmt.Errorf("the folder of %s is gone", path), err)
		}
	}
}

// ErrTooLong is wrapped by Read's error about a file that is longer than the limit.
var ErrTooLong = errors.New("too long")

// Read reads a file of at most so many bytes; nil if there is none.
func Read(path string, bytesMax int64) (text []byte, err error) {
	// Not blocking: a named pipe would wait for its writer.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a file", path), err)
	}
	if text, err = io.ReadAll(io.LimitReader(file, bytesMax+1)); err != nil {
		return nil, err
	}
	if int64(len(text)) > bytesMax {
		return nil, fmt.Errorf("%s is longer than %d bytes: %w", path, bytesMax, ErrTooLong)
	}
	return text, nil
}
