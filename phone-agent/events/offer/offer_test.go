// SPDX-License-Identifier: Apache-2.0

package offer_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/events/follow"
	"github.com/airbound/airbound/phone-agent/events/offer"
)

var (
	token   = strings.Repeat("0123", 8)
	arrived = events.Event{AtUS: 7, Source: events.NL80211, Kind: events.Association, Place: "02:00:00:00:00:01"}
	moved   = events.Report{Kind: events.BaseStation, Place: "440-10-1"}
)

// pipes is a listener in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (*pipes) Addr() net.Addr { return nil }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

// agent is a server with one socket, in a bubble of synctest.
type agent struct {
	*offer.Server
	*pipes

	mutex   sync.Mutex
	reports []events.Report
	refused []error
}

func (a *agent) counts() (reports, refused int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return len(a.reports), len(a.refused)
}

func serve(t *testing.T, with string) *agent {
	t.Helper()
	made := &agent{pipes: &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}}
	made.Server = offer.New(
		func(source events.Source, report events.Report) events.Outcome {
			made.mutex.Lock()
			defer made.mutex.Unlock()
			if source != events.Program {
				t.Errorf("source %s", source)
			}
			made.reports = append(made.reports, report)
			return events.Merged
		},
		func(err error) {
			made.mutex.Lock()
			defer made.mutex.Unlock()
			made.refused = append(made.refused, err)
		})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { made.Serve(ctx, made.pipes, events.Program, with) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return made
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func TestEveryConnectionGetsEachArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := serve(t, "")
		first, second := follow.New(agent.dial()), follow.New(agent.dial())
		synctest.Wait()
		agent.Publish(arrived)
		for _, conn := range []*follow.Conn{first, second} {
			if got, err := conn.Next(); err != nil || got != arrived {
				t.Errorf("%+v, %v", got, err)
			}
		}
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		agent.Publish(arrived)
		if got, err := second.Next(); err != nil || got != arrived {
			t.Errorf("after the other has gone: %+v, %v", got, err)
		}
		if reports, refused := agent.counts(); reports+refused > 0 {
			t.Errorf("%d reports, %v", reports, agent.refused)
		}
	})
}

func TestReportsAreAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := serve(t, "")
		conn := follow.New(agent.dial())
		synctest.Wait()
		agent.Publish(arrived) // Before the answer.
		if outcome, err := conn.Report(moved); err != nil || outcome != "merged" {
			t.Errorf("%q, %v", outcome, err)
		}
		if reports, refused := agent.counts(); reports != 1 || refused != 0 || agent.reports[0] != moved {
			t.Errorf("%+v, %v", agent.reports, agent.refused)
		}
	})
}

func TestGarbageEndsItsConnectionOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := serve(t, "")
		other := follow.New(agent.dial())
		for i, garbage := range []string{"garbage\n", "{}\n", strings.Repeat("x", 513)} {
			conn := agent.dial()
			go func() { _, _ = io.WriteString(conn, garbage) }()
			text, err := io.ReadAll(conn)
			if !strings.Contains(string(text), `{"refused":"`) || err != nil {
				t.Errorf("%q, %v", text, err)
			}
			synctest.Wait()
			if _, refused := agent.counts(); refused != i+1 || !errors.Is(agent.refused[i], events.ErrRefused) {
				t.Errorf("%v", agent.refused)
			}
		}
		if _, err := follow.New(agent.dial()).Report(events.Report{Kind: "none"}); err == nil ||
			!strings.Contains(err.Error(), `no kind \"none\"`) && !strings.Contains(err.Error(), `no kind "none"`) {
			t.Error(err)
		}
		agent.Publish(arrived)
		if got, err := other.Next(); err != nil || got != arrived {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// A line without its end is none, even if it could be read.
func TestAReporterThatIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := serve(t, "")
		conn := agent.dial()
		write(t, conn, `{"kind":"base_station"}`)
		_ = conn.Close()
		synctest.Wait()
		if reports, refused := agent.counts(); reports+refused != 0 {
			t.Errorf("%d reports, %v", reports, agent.refused)
		}
	})
}

func TestASlowReaderIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := serve(t, "")
		slow := agent.dial()
		synctest.Wait()
		for range offer.WaitingMax + 3 {
			agent.Publish(arrived)
			synctest.Wait()
		}
		if _, refused := agent.counts(); refused != 1 || !errors.Is(agent.refused[0], offer.ErrSlow) {
			t.Errorf("%v", agent.refused)
		}
		if _, err := io.ReadAll(slow); err != nil {
			t.Error(err)
		}
	})
}

func TestAReaderThatStopsIsClosedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := serve(t, "")
		conn := agent.dial()
		synctest.Wait()
		agent.Publish(arrived)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if text, err := io.ReadAll(conn); err != nil || len(text) > 0 {
			t.Errorf("%q, %v", text, err)
		}
	})
}

func TestTheToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := serve(t, token)
		good := agent.dial()
		write(t, good, string(events.TokenLine(token)))
		synctest.Wait()
		for _, line := range []string{
			string(events.TokenLine(strings.Repeat("a", 32))), `{"kind":"base_station"}` + "\n", "GET / HTTP/1.1\r\n",
		} {
			conn := agent.dial()
			write(t, conn, line)
			if text, err := io.ReadAll(conn); len(text) > 0 || err != nil {
				t.Errorf("%q, %v", text, err)
			}
		}
		silent := agent.dial()
		synctest.Wait()
		agent.Publish(arrived)
		start := time.Now()
		if text, err := io.ReadAll(silent); len(text) > 0 || err != nil || time.Since(start) > 5*time.Second {
			t.Errorf("%q, %v after %s", text, err, time.Since(start))
		}
		if got, err := follow.New(good).Next(); err != nil || got != arrived {
			t.Errorf("%+v, %v", got, err)
		}
		synctest.Wait()
		if reports, refused := agent.counts(); reports != 0 || refused != 4 {
			t.Errorf("%d reports, %v", reports, agent.refused)
		}
	})
}

func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := serve(t, "")
		var conns []net.Conn
		for range offer.ConnectionsMax {
			conns = append(conns, agent.dial())
		}
		beyond := agent.dial()
		if text, err := io.ReadAll(beyond); len(text) > 0 || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		synctest.Wait()
		if _, refused := agent.counts(); refused != 1 {
			t.Errorf("%v", agent.refused)
		}
		_ = conns[0].Close()
		synctest.Wait()
		again := agent.dial()
		synctest.Wait()
		agent.Publish(arrived)
		if got, err := follow.New(again).Next(); err != nil || got != arrived {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestTheUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s") // Names of sockets are short.
	for range 2 {                           // The second one replaces what the first one left.
		listener, err := offer.ListenUnix(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		listener.(*net.UnixListener).SetUnlinkOnClose(false)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != offer.SocketMode {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		server := offer.New(func(events.Source, events.Report) events.Outcome { return events.New },
			func(err error) { t.Error(err) })
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { server.Serve(ctx, listener, events.Program, "") })
		conn, err := follow.Dial(t.Context(), "unix", path, "")
		if err != nil {
			t.Fatal(err)
		}
		if outcome, err := conn.Report(moved); err != nil || outcome != "new" {
			t.Errorf("%q, %v", outcome, err)
		}
		cancel()
		group.Wait()
		if _, err := conn.Next(); err == nil {
			t.Error("the connection stays open")
		}
		_ = conn.Close()
	}
	if err := os.WriteFile(path+".file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if listener, err := offer.ListenUnix(t.Context(), path+".file"); err == nil {
		_ = listener.Close()
		t.Error("a file was replaced")
	}
}

func TestTheLoopbackPort(t *testing.T) {
	t.Parallel()
	listener, err := offer.ListenLoopback(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	server := offer.New(func(source events.Source, _ events.Report) events.Outcome {
		if source != events.Loopback {
			t.Errorf("source %s", source)
		}
		return events.New
	}, func(err error) { t.Error(err) })
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { server.Serve(ctx, listener, events.Loopback, token) })
	conn, err := follow.Dial(t.Context(), "tcp", listener.Addr().String(), token)
	if err != nil {
		t.Fatal(err)
	}
	if outcome, err := conn.Report(moved); err != nil || outcome != "new" {
		t.Errorf("%q, %v", outcome, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	group.Wait()
}

func TestTokenFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	made, err := offer.Token(path)
	if err != nil || events.CheckToken(made) != nil {
		t.Fatalf("%q, %v", made, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if again, err := offer.Token(path); err != nil || again != made {
		t.Errorf("%q, %v", again, err)
	}
	if err := os.WriteFile(path, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := offer.Token(path); err == nil || got != "" || !strings.Contains(err.Error(), path) ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := offer.Token(filepath.Join(path, "none")); err == nil {
		t.Error("a token in no folder")
	}
}
