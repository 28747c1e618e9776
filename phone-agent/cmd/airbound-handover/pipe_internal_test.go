// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/command"
)

// address waits for the line with the address that a command listens at.
type address struct{ lines chan string }

func (a address) Write(octets []byte) (int, error) {
	if text, found := strings.CutPrefix(string(octets), "listening at "); found {
		a.lines <- strings.TrimSpace(text)
	}
	return len(octets), nil
}

func newAddress() address { return address{make(chan string, 1)} }

func TestAPipeArrives(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]bool{"bytes": false, "lines": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Repeat("a line of some length, as in a log\n", 5000)
			at, done := newAddress(), make(chan error, 1)
			var received bytes.Buffer
			go func() {
				o := receiveOptions{listen: "127.0.0.1:0", options: options{plainText: true, lines: lines}}
				done <- o.run(t.Context(), &received, at)
			}()
			o := sendOptions{to: <-at.lines, options: options{plainText: true, lines: lines}, timeout: patience}
			if err := o.run(t.Context(), strings.NewReader(text), io.Discard, io.Discard); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			if received.String() != text {
				t.Errorf("%d bytes arrived, want %d", received.Len(), len(text))
			}
		})
	}
}

// patience is for what hangs.
const patience = 60e9

// An unmodified program sends to the proxy, ends its direction, and reads the answer.
func TestAnUnmodifiedConnectionIsCarried(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	service, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Close() }()
	go func() {
		conn, err := service.Accept()
		if err != nil {
			return
		}
		request, _ := io.ReadAll(conn)
		_, _ = conn.Write(bytes.ToUpper(request))
		_ = conn.Close()
	}()
	plain := options{plainText: true}
	server, phone, done := newAddress(), newAddress(), make(chan error, 2)
	go func() {
		o := receiveOptions{listen: "127.0.0.1:0", options: plain}
		o.proxy = service.Addr().String()
		done <- o.run(ctx, io.Discard, server)
	}()
	go func() {
		o := sendOptions{to: <-server.lines, options: plain, timeout: patience}
		o.proxy = "127.0.0.1:0"
		done <- o.run(ctx, nil, io.Discard, phone)
	}()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", <-phone.lines)
	if err != nil {
		t.Fatal(err)
	}
	request := strings.Repeat("some text ", 20_000)
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Error(err)
	}
	if half, can := conn.(*net.TCPConn); can {
		_ = half.CloseWrite()
	}
	answer, err := io.ReadAll(conn)
	if err != nil || string(answer) != strings.ToUpper(request) {
		t.Errorf("%d bytes, %v; want %d", len(answer), err, len(request))
	}
	cancel()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"send":                                       "--to is missing",
		"send --to nowhere":                          `--to "nowhere" is not ADDR:PORT`,
		"send --to h:1 --newest-first":               "--newest-first needs --lines",
		"send --to h:1 --tls-key x":                  "--tls-certificate and --tls-key go together",
		"send --to h:1 --proxy h:2 --lines":          "--proxy carries bytes",
		"receive --listen :1":                        "--plain-text, are missing",
		"receive --plain-text":                       "--listen is missing",
		"receive --listen :1 --plain-text --state f": "--output and --state go together",
		"receive --listen :1 --plain-text --output f --state f --proxy h:1": "--proxy excludes --output",
		"receive --listen :1 --plain-text --receive-interval 1ms":           "--receive-interval 1ms is not within",
	} {
		var stderr bytes.Buffer
		code := program().Dispatch(t.Context(), strings.Fields(line), io.Discard, &stderr)
		if code != command.ExitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q; want %q", line, code, stderr.String(), want)
		}
	}
}
