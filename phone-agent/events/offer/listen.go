// SPDX-License-Identifier: Apache-2.0

package offer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/airbound/airbound/phone-agent/events"
)

// SocketMode is that of the Unix socket: the agent's user and group may use it. Where the phone is, is nobody else's
// business.
const SocketMode = 0o660

// ListenUnix makes the Unix socket. One that an earlier agent has left is replaced.
func ListenUnix(ctx context.Context, path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("replace the socket of an earlier agent: %w", err)
		}
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("make the socket for events: %w", err)
	}
	if err := os.Chmod(path, SocketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("make the socket for events: %w", err), listener.Close())
	}
	return listener, nil
}

// ListenLoopback makes the loopback port.
func ListenLoopback(ctx context.Context, port int) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen for apps that follow events: %w", err)
	}
	return listener, nil
}

// Token reads the token from its file. If there is none, it makes one that only the agent's user can read; the owner of
// the phone gives it to the apps that may follow.
func Token(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newToken(path)
	}
	if err != nil {
		return "", fmt.Errorf("read the token for events: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if err := events.CheckToken(token); err != nil {
		return "", fmt.Errorf("read the token for events from %s: %w", path, err)
	}
	return token, nil
}

func newToken(path string) (token string, err error) {
	const octets = 16
	drawn := make([]byte, octets)
	if _, err := rand.Read(drawn); err != nil {
		return "", fmt.Errorf("draw a token for events: %w", err)
	}
	token = hex.EncodeToString(drawn)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("make the token for events: %w", err)
	}
	_, err = file.WriteString(token + "\n")
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("write the token for events: %w", err), os.Remove(path))
	}
	return token, nil
}
