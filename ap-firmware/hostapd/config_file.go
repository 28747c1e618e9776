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

// ConfigFile is hostapd's configuration file of one BSS. It is read again when it has changed. It is not safe for
// concurrent use.
type ConfigFile struct {
	paths         []string
	interfaceName string
	// malformed is called with every line that had to be refused.
	malformed func(error)

	seen     fileVersion
	path     string
	chosen   bool
	settings *Settings
	failure  string
}

type fileVersion struct {
	modified  time.Time
	sizeBytes int64
}

// NewConfigFile opens nothing yet. Of several files, one for each radio, the first that names the interface is used.
func NewConfigFile(paths []string, interfaceName string, malformed func(error)) *ConfigFile {
	return &ConfigFile{paths: paths, interfaceName: interfaceName, malformed: malformed}
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
	if !f.chosen {
		f.path, f.chosen = f.choose()
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return fmt.Errorf("read hostapd's configuration: %w", err)
	}
	version := fileVersion{modified: info.ModTime(), sizeBytes: info.Size()}
	if f.settings != nil && version == f.seen {
		return nil
	}
	text, err := read(f.path)
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

// choose returns the first file that names the interface. If none of several does, it is the first of all, for now.
func (f *ConfigFile) choose() (path string, chosen bool) {
	if len(f.paths) == 1 {
		return f.paths[0], true
	}
	for _, path := range f.paths {
		if text, err := read(path); err == nil && names(text, f.interfaceName) {
			return path, true
		}
	}
	return f.paths[0], false
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read hostapd's configuration: %w", err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	text, err := io.ReadAll(io.LimitReader(file, configBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("read hostapd's configuration %s: %w", path, err)
	}
	if len(text) > configBytesMax {
		return nil, fmt.Errorf("%s: %w: more than %d bytes", path, ErrMalformed, configBytesMax)
	}
	return text, nil
}
