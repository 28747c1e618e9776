// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/identity"
)

const (
	tokenFileMax = 64 << 10
	// Of a file with a token: others everything, its group to write. The first that uses a token gets the certificate,
	// and the token names the authority of the controllers that the device connects to.
	tokenForbiddenMode = 0o027
)

// ReadTokenFile returns the first line of a file with a token: `airbound enroll` prints the token there, and its use
// below. The file must be a regular one that others cannot read.
func ReadTokenFile(path string) (string, error) {
	content, err := readPrivate(path)
	if err != nil {
		return "", &failedError{identity.TokenUnreadable, fmt.Errorf("read the token: %w", err)}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(content)), "\n")
	return strings.TrimSpace(line), nil
}

func readPrivate(path string) (content []byte, err error) {
	// A pipe must not keep the agent waiting.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := tokenFileMode(path, info); err != nil {
		return nil, err
	}
	content, err = io.ReadAll(io.LimitReader(file, tokenFileMax+1))
	if err == nil && len(content) > tokenFileMax {
		err = fmt.Errorf("%s has more than %d bytes", path, tokenFileMax)
	}
	return content, err
}

func tokenFileMode(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", path)
	}
	if mode := info.Mode().Perm(); mode&tokenForbiddenMode != 0 {
		return fmt.Errorf("%s is open to others: its mode is %#o; make a new token, and chmod 600 %s", path, mode, path)
	}
	return nil
}
