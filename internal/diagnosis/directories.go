// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const directoriesPart = "directories"

// Directories are a directory each: whether the agent can write to it, or make it, and who else can.
func Directories(stateDir, credentialsDir string) []Finding {
	return []Finding{
		directory("state", "--state-dir", stateDir, 0o022),
		directory("certificate", "--credentials-dir", credentialsDir, 0o077),
	}
}

// directory complains about the bits of others, if they are set.
func directory(what, flag, path string, others fs.FileMode) Finding {
	info, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return Fail(directoriesPart, "name another directory with "+flag, "%s: %v", what, err)
	case err == nil && !info.IsDir():
		return Fail(directoriesPart, "remove the file, or name another directory with "+flag,
			"%s: %s is not a directory", what, path)
	case err == nil && info.Mode().Perm()&others != 0:
		return Fail(directoriesPart, "chmod 700 "+path, "%s: others may use %s: its mode is %#o", what, path,
			info.Mode().Perm())
	}
	if err := writable(existing(path)); err != nil {
		return Fail(directoriesPart, "name a directory with "+flag+" that can be written to", "%s: %v", what, err)
	}
	if missing {
		return Good(directoriesPart, "%s: %s will be made", what, path)
	}
	return Good(directoriesPart, "%s: %s", what, path)
}

// existing is the directory itself, or else the nearest above it that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// writable writes a file and removes it: a file system may be read-only or full.
func writable(path string) error {
	probe, err := os.CreateTemp(path, ".airbound-doctor-")
	if err != nil {
		return fmt.Errorf("write to %s: %w", path, errors.Unwrap(err))
	}
	_, err = probe.WriteString("probe\n")
	return errors.Join(err, probe.Close(), os.Remove(probe.Name()))
}
