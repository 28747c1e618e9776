// SPDX-License-Identifier: Apache-2.0

package secure_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/lab/load/secure"
	"github.com/airbound/airbound/lab/load/secure/securetest"
)

// served answers one connection with what it is sent; who the client was, or why the handshake failed.
func served(t *testing.T, config *tls.Config) (net.Conn, chan string) {
	t.Helper()
	client, server := net.Pipe()
	ended := make(chan string, 1)
	go func() {
		conn := tls.Server(server, config)
		defer func() { _ = server.Close() }()
		if err := conn.Handshake(); err != nil {
			ended <- err.Error()
			return
		}
		ended <- conn.ConnectionState().PeerCertificates[0].URIs[0].String()
		_, _ = io.Copy(conn, conn)
	}()
	t.Cleanup(func() { _ = client.Close() })
	return client, ended
}

func identities(t *testing.T, by *credentialstest.Authority) *secure.Identities {
	t.Helper()
	found, err := secure.Load(securetest.Directory(t, by, 1, 3, time.Hour), 0, 1, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// client moves bytes between a Conn and a socket.
type client struct {
	t      *testing.T
	conn   net.Conn
	writes chan []byte
	secure *secure.Conn
	chunk  int // bytes that Receive is given at once
	plain  []byte
}

func connect(t *testing.T, conn net.Conn, config *tls.Config, chunk int) *client {
	t.Helper()
	made, hello := secure.Start(nil, config)
	t.Cleanup(made.Close)
	c := &client{t: t, conn: conn, secure: made, chunk: chunk, writes: make(chan []byte, 1000)}
	// A pipe has no buffer, and the server may be writing as well.
	go func() {
		for data := range c.writes {
			_, _ = conn.Write(data)
		}
	}()
	t.Cleanup(func() { close(c.writes) })
	c.write(hello)
	return c
}

func (c *client) write(data []byte) { c.writes <- bytes.Clone(data) }

// until reads until a condition holds.
func (c *client) until(condition func() bool) error {
	buffer := make([]byte, 4000)
	for !condition() {
		n, err := c.conn.Read(buffer)
		if err != nil {
			return err
		}
		for part := buffer[:n]; len(part) > 0; {
			size := min(c.chunk, len(part))
			var out []byte
			c.plain, out, err = c.secure.Receive(c.plain, nil, part[:size])
			if len(out) > 0 {
				c.write(out)
			}
			if err != nil {
				return err
			}
			part = part[size:]
		}
	}
	return nil
}

func TestBytesComeBackFromAServerThatKnowsTheCertificate(t *testing.T) {
	runtime.LockOSThread() // as the event loop does
	defer runtime.UnlockOSThread()
	authority := credentialstest.NewAuthority(t, "authority")
	for _, chunk := range []int{1, 7, 4000} {
		known := identities(t, authority)
		conn, ended := served(t, securetest.Server(t, authority, authority))
		c := connect(t, conn, known.Client(&known.Terminals[0]), chunk)
		if err := c.until(c.secure.Complete); err != nil {
			t.Fatal(err)
		}
		sent := bytes.Repeat([]byte("0123456789abcdef"), 4000) // several records
		out, err := c.secure.Send(nil, sent)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(out, sent[:16]) {
			t.Error("it is not encrypted")
		}
		c.write(out)
		if err := c.until(func() bool { return len(c.plain) >= len(sent) }); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(c.plain, sent) {
			t.Error("other bytes came back")
		}
		if who := <-ended; !strings.HasSuffix(who, "/terminal/load-1") {
			t.Errorf("the server saw %s", who)
		}
	}
}

func TestAServerOfAnotherAuthorityIsRefused(t *testing.T) {
	ours, theirs := credentialstest.NewAuthority(t, "ours"), credentialstest.NewAuthority(t, "theirs")
	known := identities(t, ours)
	conn, _ := served(t, securetest.Server(t, theirs, ours))
	c := connect(t, conn, known.Client(&known.AccessPoints[0]), 4000)
	err := c.until(c.secure.Complete)
	if err == nil || !strings.Contains(err.Error(), "authority") {
		t.Errorf("error is %v", err)
	}
}

func TestAServerThatRefusesTheCertificateEndsTheConnection(t *testing.T) {
	ours, theirs := credentialstest.NewAuthority(t, "ours"), credentialstest.NewAuthority(t, "theirs")
	known := identities(t, ours)
	conn, _ := served(t, securetest.Server(t, ours, theirs))
	c := connect(t, conn, known.Client(&known.AccessPoints[0]), 4000)
	err := c.until(func() bool { return false })
	if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "remote error") {
		t.Errorf("error is %v", err)
	}
}

func TestAHandshakeThatIsGivenUpLeavesNothingBehind(t *testing.T) {
	known := identities(t, credentialstest.NewAuthority(t, "authority"))
	before := runtime.NumGoroutine()
	for range 100 {
		conn, _ := secure.Start(nil, known.Client(&known.Terminals[0]))
		conn.Close()
		conn.Close()
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}
