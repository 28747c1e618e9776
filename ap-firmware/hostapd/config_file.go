// SPDX-License-Identifier: Apache-2.0

package hostapd

import (
	"fmt"
	"io"
	"os"
	"time"
)

// configBytesMax is beyond any configuration; what is longer is refused.
const configBytesMax = 1 << 20

// ConfigFile is hostapd's configuration file. It is read again when it has changed. It is not safe for concurrent use.
type ConfigFile struct {
	path, interfaceName string
	// malformed is called with every line that had to be refused.
	malformed func(error)

	seen     fileVersion
	settings *Settings
	failure  string
}

type fileVersion struct {
	modified  time.Time
	sizeBytes int64
}

// NewConfigFile opens nothing yet.
func NewConfigFile(path, interfaceName string, malformed func(error)) *ConfigFile {
	return &ConfigFile{path: path, interfaceName: interfaceName, malformed: malformed}
}

// Read returns what the file says, and nil if it could never be read. While it cannot be read, the last settings are
// valid, and each new failure counts as malformed input.
func (f *ConfigFile) Read() *Settings {
	if err := f.refresh(); err == nil {
		f.failure = ""
	} else if text := err.Error(); text != f.failure {
		f.failure = text
		f.malformed(err)
	}
	return f.settings
}

func (f *ConfigFile) refresh() error {
	info, err := os.Stat(f.path)
	if err != nil {
		return fmt.Errorf("read hostapd's configuration: %w", err)
	}
	version := fileVersion{modified: info.ModTime(), sizeBytes: info.Size()}
	if f.settings != nil && version == f.seen {
		return nil
	}
	text, err := f.read()
	if err != nil {
		return err
	}
	settings, refused := ParseConfig(text, f.interfaceName)
	for _, err := range refused {
		f.malformed(fmt.Errorf("%s: %w", f.path, err))
	}
	f.settings, f.seen = &settings, version
	return nil
}

func (f *ConfigFile) read() ([]byte, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("read hostapd's configuration: %w", err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	text, err := io.ReadAll(io.LimitReader(file, configBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("read hostapd's configuration %s: %w", f.path, err)
	}
	if len(text) > configBytesMax {
		return nil, fmt.Errorf("%s: %w: more than %d bytes", f.path, ErrMalformed, configBytesMax)
	}
	return text, nil
}
