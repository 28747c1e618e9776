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
// ends. Its folder and those above may be replaced, or not be there yet. An error means that changes cannot be noticed
// any more. If the file or a folder of its path is a symbolic link, changes of the link are not noticed.
func Follow(ctx context.Context, path string, changed func()) error {
	path, err := filepath.Abs(path)
	for err == nil && ctx.Err() == nil {
		err = followFolders(ctx, path, changed)
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	return nil
}

const (
	// aroundMask is what happens to names in a folder, and to the folder.
	aroundMask = unix.IN_CLOSE_WRITE | unix.IN_MOVED_TO | unix.IN_DELETE | unix.IN_MOVED_FROM | selfMask
	// towardsMask is the same where a folder is missing.
	towardsMask = unix.IN_CREATE | aroundMask
	// selfMask is what happens to a folder: nothing wakes the process for a name in it.
	selfMask = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
)

// followFolders follows the file until a folder of its path comes, goes or is replaced, or the context ends.
func followFolders(ctx context.Context, path string, changed func()) error {
	// A file of Go's is not blocking: its Close ends a Read that waits.
	descriptor, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return err
	}
	watch := os.NewFile(uintptr(descriptor), "inotify")
	awaited, err := watchPath(descriptor, path)
	if err != nil {
		return errors.Join(err, watch.Close())
	}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { closed <- watch.Close() })
	changed()
	for {
		moved, again, err := next(watch, filepath.Base(awaited))
		if err == nil && !again && (!moved || awaited == path) {
			if moved {
				changed()
			}
			continue
		}
		if !stop() {
			return <-closed
		}
		return errors.Join(err, watch.Close())
	}
}

// next waits for changes; as parse.
func next(watch *os.File, name string) (changed, over bool, err error) {
	// Room for several events with the longest names.
	buffer := make([]byte, 16*(unix.SizeofInotifyEvent+unix.NAME_MAX+1))
	count, err := watch.Read(buffer)
	if err != nil {
		return false, false, err
	}
	changed, over = parse(buffer[:count], name)
	return changed, over, nil
}

// watchPath has the folder of a path watched, or the nearest one above it that is there, and all above that one as far
// as they may be watched. It returns what is awaited in the watched folder: the path, or the folder that is missing.
func watchPath(descriptor int, path string) (awaited string, err error) {
	awaited, mask := path, uint32(aroundMask)
	for {
		folder := filepath.Dir(awaited)
		_, err := unix.InotifyAddWatch(descriptor, folder, mask)
		isMissing := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
		switch {
		case isMissing && folder != awaited:
			awaited, mask = folder, towardsMask
			continue
		case err != nil:
			return "", fmt.Errorf("folder %s: %w", folder, err)
		}
		if awaited != path {
			if info, err := os.Stat(awaited); err == nil && info.IsDir() {
				awaited, mask = path, aroundMask // It has come meanwhile.
				continue
			}
		}
		for above := filepath.Dir(folder); above != folder; folder, above = above, filepath.Dir(above) {
			// One that may not be watched is as it is.
			_, _ = unix.InotifyAddWatch(descriptor, above, selfMask)
		}
		return awaited, nil
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
