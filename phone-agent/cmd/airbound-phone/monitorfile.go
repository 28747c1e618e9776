// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// monitorFile reads /proc/net/tcp_monitor into a buffer that it keeps.
type monitorFile struct {
	path   string
	buffer []byte
}

// monitorBytesMax bounds a reading; about 100,000 connections.
const monitorBytesMax = 16 << 20

func newMonitorFile(procRoot string) *monitorFile {
	return &monitorFile{path: filepath.Join(procRoot, "net", "tcp_monitor"), buffer: make([]byte, 8<<10)}
}

// read returns the whole file; the bytes are good until the next call.
func (m *monitorFile) read() ([]byte, error) {
	file, err := os.Open(m.path)
	if err != nil {
		return nil, err
	}
	used := 0
	for {
		if used == len(m.buffer) {
			if used >= monitorBytesMax {
				return nil, errors.Join(fmt.Errorf("%s is longer than %d bytes", m.path, monitorBytesMax), file.Close())
			}
			m.buffer = append(m.buffer, make([]byte, len(m.buffer))...)
		}
		n, err := file.Read(m.buffer[used:])
		used += n
		if errors.Is(err, io.EOF) {
			return m.buffer[:used], file.Close()
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
}
