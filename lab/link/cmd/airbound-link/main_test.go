// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

func TestWrongUsage(t *testing.T) {
	directory := t.TempDir()
	for _, c := range []struct{ name, arguments, says string }{
		{"no end", "", "which end"},
		{"another end", "middle --directory DIR a=127.0.0.1:1", "neither far nor near"},
		{"no directory", "far a=127.0.0.1:1", "--directory"},
		{"no target", "far --directory DIR", "no NAME=ADDRESS:PORT"},
		{"no name", "far --directory DIR =127.0.0.1:1", "is not NAME=ADDRESS:PORT"},
		{"no port", "near --directory DIR a=127.0.0.1", "is not NAME=ADDRESS:PORT"},
		{"twice", "near --directory DIR a=127.0.0.1:1 a=127.0.0.1:2", "twice"},
		{"unknown flag", "near --fast", "-fast"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stderr bytes.Buffer
			code := run(t.Context(), strings.Fields(strings.ReplaceAll(c.arguments, "DIR", directory)), &stderr)
			if code != exitUsage || !strings.Contains(stderr.String(), c.says) {
				t.Errorf("status %d: %s", code, stderr.String())
			}
		})
	}
}

func TestADirectoryThatIsNotThere(t *testing.T) {
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"far", "--directory", t.TempDir() + "/none", "a=127.0.0.1:1"}, &stderr)
	if code != exitFailed || !strings.Contains(stderr.String(), "no directory") {
		t.Errorf("status %d: %s", code, stderr.String())
	}
}

func TestAConnectionThroughBothEnds(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	go func() {
		if conn, err := server.Accept(); err == nil {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	address := freeAddress(t)
	directory := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	codes := make(chan int, 2)
	for _, arguments := range [][]string{
		{"far", "--directory", directory, "echo=" + server.Addr().String()},
		{"near", "--directory", directory, "echo=" + address},
	} {
		go func() { codes <- run(ctx, arguments, os.Stderr) }()
	}

	conn := dial(t, address)
	if _, err := conn.Write([]byte("through")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len("through"))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "through" {
		t.Errorf("%q, %v", answer, err)
	}
	_ = conn.Close()
	cancel()
	for range 2 {
		if code := <-codes; code != exitDone {
			t.Errorf("status %d", code)
		}
	}
}

// freeAddress is one that no other test uses: nobody else is given its port, once it is free again.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.67.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// dial connects as soon as the near end listens.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	for range 600 {
		if conn, err := net.Dial("tcp", address); err == nil {
			return conn
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("nobody listens at %s", address)
	return nil
}
