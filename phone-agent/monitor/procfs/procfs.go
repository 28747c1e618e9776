// SPDX-License-Identifier: Apache-2.0

// Package procfs is the monitor.Source of the patched kernel: it reads /proc/net/tcp_monitor.
package procfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/airbound/airbound/phone-agent/monitor"
)

// File is the file of the network namespace that a /proc shows. It reuses its buffer and is for one goroutine.
type File struct {
	path   string
	buffer []byte
}

const (
	bufferBytes = 8 << 10
	// bytesMax limits a reading; about 100,000 connections.
	bytesMax = 16 << 20
)

// New finds the file below procRoot (usually /proc). Nothing is opened yet.
func New(procRoot string) *File {
	return &File{path: filepath.Join(procRoot, "net", "tcp_monitor"), buffer: make([]byte, bufferBytes)}
}

// Snapshot implements monitor.Source.
func (f *File) Snapshot() (monitor.Snapshot, error) {
	text, err := f.read()
	if err != nil {
		return monitor.Snapshot{}, fmt.Errorf("is the kernel patched? %w", err)
	}
	snapshot, err := Parse(text)
	if err != nil {
		return monitor.Snapshot{}, fmt.Errorf("%w: %s: %w", monitor.ErrMalformed, f.path, err)
	}
	return snapshot, nil
}

// read returns the whole file; the bytes are valid until the next call.
func (f *File) read() ([]byte, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	used := 0
	for {
		if used == len(f.buffer) {
			if used >= bytesMax {
				return nil, errors.Join(fmt.Errorf("%s is longer than %d bytes", f.path, bytesMax), file.Close())
			}
			f.buffer = append(f.buffer, make([]byte, len(f.buffer))...)
		}
		n, err := file.Read(f.buffer[used:])
		used += n
		if errors.Is(err, io.EOF) {
			return f.buffer[:used], file.Close()
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
}
