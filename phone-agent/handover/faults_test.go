// SPDX-License-Identifier: Apache-2.0

package handover_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airbound/airbound/phone-agent/handover"
)

func TestBrokenConnectionsLoseNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 25*time.Millisecond, handover.Config{})
		phone, server := s.dial(t, handover.Config{})
		up := run(t, phone, server, 200, func() {
			for range 12 {
				time.Sleep(1230 * time.Millisecond)
				s.reset()
			}
		})
		checkInOrder(t, up, 200)
	})
}

func TestDownlinkArrivesAfterAnArrival(t *testing.T) {
	t.Parallel()
	for name, irregular := range map[string]bool{"periodic": false, "irregular": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, 25*time.Millisecond, handover.Config{Irregular: irregular})
				events := make(chan handover.Event)
				phone, server := s.dial(t, handover.Config{Events: events})
				var end time.Time
				down := run(t, server, phone, 300, func() {
					time.Sleep(10*time.Second + 30*time.Millisecond)
					s.outage(5 * time.Second)
					end = time.Now()
					events <- handover.Event{}
				})
				checkInOrder(t, down, 300)
				// An irregular server is asked first, and what the answer says is given SilenceMin.
				latest := 80 * time.Millisecond
				if irregular {
					latest = 400 * time.Millisecond
				}
				if first := firstAfter(down, end); first < 0 || first > latest {
					t.Errorf("first record %v after the outage, %+v", first, phone.Stats())
				}
			})
		})
	}
}

// application is one at a server, which saves what it does with the sequence numbers.
type application struct {
	t        *testing.T
	mutex    sync.Mutex
	saved    []string
	sessions sync.WaitGroup
	ended    chan struct{}
}

func (a *application) origin(string, string) (handover.Origin, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return handover.Origin{Next: uint64(len(a.saved)) + 1}, nil
}

func (a *application) serve(listener *handover.Listener) {
	for {
		conn, err := listener.Accept(context.Background())
		if err != nil {
			return
		}
		a.sessions.Go(func() { a.take(conn) })
	}
}

func (a *application) take(conn *handover.Conn) {
	defer func() { _ = conn.Close() }()
	for {
		record, err := conn.Receive(context.Background())
		switch {
		case errors.Is(err, io.EOF):
			close(a.ended)
			return
		case err != nil:
			return
		}
		a.mutex.Lock()
		if want := uint64(len(a.saved)) + 1; record.Sequence != want {
			a.t.Errorf("record %d, want %d", record.Sequence, want)
		}
		a.saved = append(a.saved, string(record.Data))
		a.mutex.Unlock()
	}
}

func TestAServerThatStartsAgainGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &application{t: t, ended: make(chan struct{})}
		cfg := handover.Config{Origin: a.origin}
		s := &site{network: newNetwork(t, 25*time.Millisecond)}
		s.serve(cfg)
		go a.serve(s.listener)
		phone, err := handover.Dial(t.Context(), address, handover.Config{DialContext: s.network.dial})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for i := range 5 {
				time.Sleep(time.Duration(2000+137*i) * time.Millisecond)
				_ = s.listener.Close()
				time.Sleep(700 * time.Millisecond)
				s.serve(cfg)
				go a.serve(s.listener)
			}
		}()
		send(t, phone, 200, 100*time.Millisecond)
		if err := phone.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		<-a.ended
		_ = s.listener.Close()
		a.sessions.Wait()
		for i, got := range a.saved {
			if got != content(i+1) {
				t.Fatalf("record %d is %q", i+1, got)
			}
		}
		stats := phone.Stats()
		if len(a.saved) != 200 || stats.ServerRestarts != 5 {
			t.Errorf("%d records, %+v", len(a.saved), stats)
		}
	})
}

// A receiver that takes nothing stops the sender, and no memory grows beyond its limits.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sendBytes, receiveBytes, recordBytes = 200_000, 100_000, 30_000
		s := newSite(t, time.Millisecond, handover.Config{ReceiveBytes: receiveBytes})
		phone, server := s.dial(t, handover.Config{SendBytes: sendBytes})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		sent := 0
		for {
			if _, err := phone.Send(ctx, make([]byte, recordBytes)); err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				break
			}
			sent++
		}
		if stats := phone.Stats(); stats.OutboxBytes > sendBytes || stats.Unconfirmed != sent {
			t.Errorf("sender: %+v", stats)
		}
		stats := server.Stats()
		if stats.InboxBytes > receiveBytes+2*(recordBytes+64) || stats.InboxBytes < receiveBytes {
			t.Errorf("receiver: %+v", stats)
		}
		// Since the receiver is the reason, it sends no notices about a loss.
		if stats.Notices != 0 {
			t.Errorf("%d notices", stats.Notices)
		}
		go func() { _ = phone.Shutdown(context.Background()) }()
		if got := len(receive(t, server)); got != sent {
			t.Errorf("%d records, want %d", got, sent)
		}
	})
}

func TestARecordThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, time.Millisecond, handover.Config{})
		phone, _ := s.dial(t, handover.Config{})
		if _, err := phone.Send(t.Context(), make([]byte, handover.PayloadBytesMax+1)); err == nil {
			t.Error("taken")
		}
		phone.CloseWrite()
		if _, err := phone.Send(t.Context(), nil); err == nil {
			t.Error("taken after the end")
		}
	})
}

func TestCloseNamesWhatIsNotConfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, time.Millisecond, handover.Config{})
		phone, server := s.dial(t, handover.Config{})
		send(t, phone, 3, time.Millisecond)
		if record, err := server.Receive(t.Context()); err != nil || string(record.Data) != content(1) {
			t.Fatalf("%+v, %v", record, err)
		}
		var unconfirmed *handover.UnconfirmedError
		if got := phone.Unconfirmed(); len(got) != 3 || string(got[0].Data) != content(1) {
			t.Errorf("%+v", got)
		}
		if err := phone.Close(); !errors.As(err, &unconfirmed) || unconfirmed.Number != 3 {
			t.Errorf("%v", err)
		}
		// Those that have arrived are delivered; then the end that came too early.
		for range 2 {
			if _, err := server.Receive(t.Context()); err != nil {
				t.Fatalf("%v: phone %+v, server %+v", err, phone.Stats(), server.Stats())
			}
		}
		if _, err := server.Receive(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
}

func TestManualConfirmations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, time.Millisecond, handover.Config{ManualConfirm: true})
		phone, server := s.dial(t, handover.Config{})
		send(t, phone, 3, time.Second)
		var records []handover.Record
		for range 3 {
			record, err := server.Receive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, record)
		}
		time.Sleep(time.Second)
		if got := phone.Stats().Unconfirmed; got != 3 {
			t.Errorf("%d, want 3", got)
		}
		server.Confirm(records[1])
		time.Sleep(time.Second)
		if got := phone.Unconfirmed(); len(got) != 2 || got[1].Sequence != 3 {
			t.Errorf("%+v", got)
		}
		server.Confirm(records[0])
		server.Confirm(records[2])
		if err := phone.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestASessionWithoutConnectionsExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, time.Millisecond, handover.Config{SessionTimeout: time.Minute})
		_, server := s.dial(t, handover.Config{})
		_ = s.listening(address).Close() // Nobody can come back.
		s.reset()
		start := time.Now()
		if _, err := server.Receive(t.Context()); err == nil {
			t.Error("no error")
		}
		if waited := time.Since(start); waited < time.Minute || waited > 2*time.Minute {
			t.Errorf("after %v", waited)
		}
		time.Sleep(time.Second)
		if got := s.listener.Stats().Sessions; got != 0 {
			t.Errorf("%d sessions", got)
		}
	})
}

// Whatever strangers send is refused, counted, and changes nothing.
func TestGarbageIsRefusedAndCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, time.Millisecond, handover.Config{})
		phone, server := s.dial(t, handover.Config{})
		send(t, phone, 1, time.Millisecond)
		if _, err := server.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, garbage := range []string{"GET / HTTP/1.1\r\n\r\n", "\x05\xff\xff\xff", "\x08\x00\x00\x00", ""} {
			conn, err := s.network.dial(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write([]byte(garbage)); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadAll(conn); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		}
		packets, err := s.network.dial(t.Context(), "udp", address)
		if err != nil {
			t.Fatal(err)
		}
		for _, garbage := range []string{"x", string(make([]byte, 70)), string(make([]byte, 2000))} {
			if _, err := packets.Write([]byte(garbage)); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute)
		stats := s.listener.Stats()
		if stats.RefusedHandshakes != 4 || stats.RefusedDatagrams != 3 || stats.Sessions != 1 {
			t.Errorf("%+v", stats)
		}
		send(t, phone, 1, time.Millisecond)
		if _, err := server.Receive(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSessionsOfOneClientAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, time.Millisecond, handover.Config{SessionsPerClientMax: 2})
		first, _ := s.dial(t, handover.Config{})
		s.dial(t, handover.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if conn, err := handover.Dial(ctx, address, handover.Config{DialContext: s.network.dial}); err == nil {
			t.Error("a third session", conn.Name())
		}
		if got := s.listener.Stats().RefusedLimit; got == 0 {
			t.Error("not counted")
		}
		_ = first.Close()
		time.Sleep(time.Second)
		s.dial(t, handover.Config{})
	})
}
