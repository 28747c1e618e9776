// SPDX-License-Identifier: Apache-2.0

package link_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/airbound/airbound/lab/link"
)

// A link: the addresses where its near end listens, by target.
type testLink struct {
	addresses map[string]string
	near      net.Conn
	nearEnded chan error
	farEnded  chan error
}

func start(t *testing.T, targets link.Targets, names ...string) *testLink {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	near, far := streams(ctx, t)
	l := &testLink{
		addresses: map[string]string{}, near: near, nearEnded: make(chan error, 1), farEnded: make(chan error, 1),
	}
	var listeners []link.Listener
	for _, name := range names {
		listener := listen(t)
		l.addresses[name] = listener.Addr().String()
		listeners = append(listeners, link.Listener{Listener: listener, Target: name})
	}
	log := slog.New(slog.DiscardHandler)
	var running sync.WaitGroup
	running.Go(func() { l.nearEnded <- link.Forward(ctx, near, listeners, log) })
	running.Go(func() { l.farEnded <- link.Serve(ctx, far, targets, log) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return l
}

func (l *testLink) dial(t *testing.T, name string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", l.addresses[name])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// streams returns both ends of a directory.
func streams(ctx context.Context, t *testing.T) (near, far net.Conn) {
	t.Helper()
	directory := t.TempDir()
	ends := map[link.End]net.Conn{}
	for _, end := range []link.End{link.Near, link.Far} {
		conn, err := link.OpenDirectory(ctx, directory, end)
		if err != nil {
			t.Fatal(err)
		}
		ends[end] = conn
	}
	return ends[link.Near], ends[link.Far]
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// serve calls back for each connection, and returns the address.
func serve(t *testing.T, handle func(conn *net.TCPConn)) string {
	t.Helper()
	listener := listen(t)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				handle(conn.(*net.TCPConn))
			}()
		}
	}()
	return listener.Addr().String()
}

func echo(conn *net.TCPConn) { _, _ = io.Copy(conn, conn) }

func TestCarriesEveryByteInBothDirections(t *testing.T) {
	l := start(t, link.Targets{"echo": serve(t, echo)}, "echo")
	conn := l.dial(t, "echo")
	sent := bytes.Repeat([]byte("\x00\x03\x04\r\n\x7f\xff all of it \x11\x13\x1a"), 1<<15)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.CloseWrite()
	}()
	received, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(received, sent) {
		t.Fatalf("%d bytes came back of %d, or others", len(received), len(sent))
	}
}

func TestAConnectionThatNobodyReadsDoesNotStopTheOthers(t *testing.T) {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	silent := serve(t, func(*net.TCPConn) { <-stop })
	l := start(t, link.Targets{"silent": silent, "echo": serve(t, echo)}, "silent", "echo")
	stuck := l.dial(t, "silent")
	if err := stuck.SetWriteDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := stuck.Write(make([]byte, 1<<16)); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
			break
		}
	}
	conn := l.dial(t, "echo")
	if _, err := conn.Write([]byte("?")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatalf("another connection: %v", err)
	}
}

func TestEachListenerHasItsTarget(t *testing.T) {
	say := func(word string) func(*net.TCPConn) {
		return func(conn *net.TCPConn) { _, _ = io.WriteString(conn, word) }
	}
	l := start(t, link.Targets{"a": serve(t, say("first")), "b": serve(t, say("second"))}, "a", "b")
	for name, want := range map[string]string{"a": "first", "b": "second"} {
		if got, err := io.ReadAll(l.dial(t, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestTheServerSeesWhetherAConnectionEndsOrIsReset(t *testing.T) {
	ends := make(chan error, 1)
	server := serve(t, func(conn *net.TCPConn) {
		_, err := io.ReadAll(conn)
		ends <- err
	})
	l := start(t, link.Targets{"server": server}, "server")

	ended := l.dial(t, "server")
	_, _ = ended.Write([]byte("all"))
	_ = ended.CloseWrite()
	if err := <-ends; err != nil {
		t.Errorf("a connection that ended: %v", err)
	}

	reset := l.dial(t, "server")
	_, _ = reset.Write([]byte("some"))
	if err := reset.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	_ = reset.Close()
	select {
	case err := <-ends:
		if err == nil {
			t.Error("a connection that was reset ended like any other")
		}
	case <-time.After(time.Minute):
		t.Error("a connection that was reset stays open")
	}
}

func TestAServerThatIsNotThereEndsTheConnection(t *testing.T) {
	gone := listen(t)
	address := gone.Addr().String()
	_ = gone.Close()
	l := start(t, link.Targets{"gone": address, "echo": serve(t, echo)}, "gone", "unknown", "echo")
	for _, name := range []string{"gone", "unknown"} {
		if _, err := l.dial(t, name).Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	conn := l.dial(t, "echo")
	_, _ = conn.Write([]byte("?"))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Errorf("a connection after those: %v", err)
	}
}

func TestTheNearEndReturnsWhenTheStreamEnds(t *testing.T) {
	l := start(t, link.Targets{"echo": serve(t, echo)}, "echo")
	conn := l.dial(t, "echo")
	_, _ = conn.Write([]byte("?"))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = l.near.Close()
	if err := <-l.nearEnded; err == nil {
		t.Error("it reports no error")
	}
	if _, err := net.Dial("tcp", l.addresses["echo"]); err == nil {
		t.Error("it still listens")
	}
}

func TestAWriterWaitsForAReader(t *testing.T) {
	directory := t.TempDir()
	near, err := link.OpenDirectory(t.Context(), directory, link.Near)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = near.Close() }()
	if err := near.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	written := 0
	for ; err == nil; written++ {
		_, err = near.Write([]byte{byte(written)})
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d files were written, then: %v", written, err)
	}
	far, err := link.OpenDirectory(t.Context(), directory, link.Far)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	got := make([]byte, written-1)
	if _, err := io.ReadFull(far, got); err != nil {
		t.Fatal(err)
	}
	for i, value := range got {
		if value != byte(i) {
			t.Fatalf("%v is not in order", got)
		}
	}
	if left, err := os.ReadDir(directory); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestADirectoryThatIsNotThereIsAnError(t *testing.T) {
	if _, err := link.OpenDirectory(t.Context(), t.TempDir()+"/none", link.Far); err == nil {
		t.Error("no error")
	}
}
