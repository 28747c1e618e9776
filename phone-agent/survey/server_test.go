// SPDX-License-Identifier: Apache-2.0

package survey_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/survey"
)

// begin makes a TCP connection of a survey and reads the answer.
func begin(t *testing.T, at string, role survey.Role) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	hello := survey.Hello{Role: role, Session: name}
	octets := make([]byte, 8)
	_, err = conn.Write(hello.Append(nil))
	if err == nil {
		_, err = io.ReadFull(conn, octets)
	}
	if answer, parseErr := survey.ParseAnswer(octets); err != nil || parseErr != nil || answer.Role != role {
		t.Fatalf("%+v, %v, %v", answer, err, parseErr)
	}
	return conn
}

// A phone that leaves its connection for records open has ended its survey nevertheless.
func TestTheEndOfASurveyClosesBothConnections(t *testing.T) {
	t.Parallel()
	at := serve(t, "4", "127.0.0.1", &survey.Server{})
	control, data := begin(t, at, survey.Control), begin(t, at, survey.Data)
	if err := control.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, data); err != nil {
		t.Errorf("the connection for records: %v", err)
	}
}

func TestAListenerThatIsClosedEndsTheServer(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	datagrams, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = datagrams.Close() }()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- (&survey.Server{}).Serve(t.Context(), listener, datagrams) }()
	select {
	case err := <-done:
		if !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("the server goes on without a listener")
	}
}
