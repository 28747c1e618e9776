// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// EditFile replaces settings of a configuration file: lines with a key of remove go, the settings of add come at its
// end, everything else stays. A file that is not there is made, for its owner only. The file is replaced as a whole.
// Errors name the file, and the line if it is one of the file.
func EditFile(path string, remove []string, add []Setting) error {
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	edited, err := edit(text, remove, add)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := replaceFile(path, edited); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

// edit is pure. What comes out is read as a configuration file.
func edit(text []byte, remove []string, add []Setting) ([]byte, error) {
	settings, err := ParseFile(text)
	if err != nil {
		return nil, err
	}
	var lines []string
	if content := strings.TrimSuffix(string(text), "\n"); content != "" {
		lines = strings.Split(content, "\n")
	}
	for _, setting := range slices.Backward(settings) {
		if slices.Contains(remove, setting.Key) {
			lines = slices.Delete(lines, setting.Line-1, setting.Line)
		}
	}
	for _, setting := range add {
		lines = append(lines, setting.Key+" = "+setting.Value)
	}
	edited := []byte(strings.Join(lines, "\n") + "\n")
	_, err = ParseFile(edited)
	return edited, err
}

// replaceFile writes beside the file, so that a full disk or a loss of power leaves the file as it was.
func replaceFile(path string, content []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode &= info.Mode().Perm()
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
