// SPDX-License-Identifier: Apache-2.0

package handover_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airbound/airbound/phone-agent/handover"
)

// Two hundred phones lose the same 4 s and arrive at the same moment: each record is delivered once and in order, and
// with the event none of the newer ones waits for TCP's timers.
func TestManyPhonesArriveAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const phones, records, lost = 200, 30, 4 * time.Second
		const every = 250 * time.Millisecond
		site := newSite(t, 25*time.Millisecond, handover.Config{SessionsPerClientMax: phones, HandshakesMax: phones})
		type pair struct {
			phone, server *handover.Conn
			events        chan handover.Event
		}
		var pairs []pair
		for range phones {
			events := make(chan handover.Event, 1)
			phone, server := site.dial(t, handover.Config{Irregular: true, Events: events})
			pairs = append(pairs, pair{phone, server, events})
		}
		time.Sleep(time.Second) // All have a spare.
		var running sync.WaitGroup
		for _, each := range pairs {
			var arrivals []arrival
			received := make(chan struct{})
			go func() {
				defer close(received)
				arrivals = receive(t, each.server)
			}()
			running.Go(func() {
				send(t, each.phone, records, every)
				if err := each.phone.Shutdown(context.Background()); err != nil {
					t.Error(err)
				}
				<-received
				checkInOrder(t, arrivals, records)
				// The last third was sent after the outage.
				for _, late := range arrivals[records*2/3:] {
					if late.after > time.Second {
						t.Errorf("record %d came after %s", late.record.Sequence, late.after)
						return
					}
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		site.outage(lost)
		for _, each := range pairs {
			each.events <- handover.Event{Kind: "test"}
		}
		running.Wait()
		if got := site.listener.Stats(); got.RefusedLimit+got.RefusedKeys+got.RefusedHandshakes != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// BenchmarkClients sends records from many phones in turn to one server, both in this process: what a record costs at
// both ends, and how much memory both ends of a client that is connected. By pipes in memory, since 10,000 clients
// would need 50,000 descriptors, or by loopback, with the kernel's part.
func BenchmarkClients(b *testing.B) {
	for _, clients := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("pipes/%d", clients), func(b *testing.B) {
			path := &pipes{make(chan net.Conn), make(chan struct{}), sync.Once{}}
			listener := handover.Serve(path, nil, handover.Config{
				SessionsPerClientMax: clients, Irregular: true, SideChannel: handover.NoSideChannel,
			})
			benchmarkClients(b, listener, clients, handover.Config{
				Irregular: true, SideChannel: handover.NoSideChannel, DialContext: path.dial,
			})
		})
	}
	const few = 1000
	b.Run(fmt.Sprintf("loopback/%d", few), func(b *testing.B) {
		listener, err := handover.Listen("127.0.0.1:0", handover.Config{SessionsPerClientMax: few, Irregular: true})
		if err != nil {
			b.Fatal(err)
		}
		benchmarkClients(b, listener, few, handover.Config{Irregular: true})
	})
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (*pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.accepted <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func benchmarkClients(b *testing.B, listener *handover.Listener, clients int, cfg handover.Config) {
	b.Helper()
	memory := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapInuse + stats.StackInuse
	}
	before := memory()
	defer func() { _ = listener.Close() }()
	var taking, received sync.WaitGroup
	var phones []*handover.Conn
	for range clients {
		phone, err := handover.Dial(b.Context(), listener.Addr().String(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		server, err := listener.Accept(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		phones = append(phones, phone)
		taking.Go(func() {
			for {
				_, err := server.Receive(context.Background())
				if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
					return
				}
				if err != nil {
					b.Error(err)
					return
				}
				received.Done()
			}
		})
	}
	for ready := 0; ready < clients; time.Sleep(time.Millisecond) {
		ready = 0
		for _, phone := range phones {
			ready += phone.Stats().ReadyToSwitch
		}
	}
	each := float64(memory()-before) / float64(clients)
	record := make([]byte, 1000)
	began := processorTime(b)
	received.Add(b.N)
	b.ResetTimer()
	for i := range b.N {
		if _, err := phones[i%clients].Send(b.Context(), record); err != nil {
			b.Fatal(err)
		}
	}
	received.Wait()
	b.StopTimer()
	b.ReportMetric(float64((processorTime(b)-began).Microseconds())/float64(b.N), "cpu-us/record")
	b.ReportMetric(each/1024, "KiB/client")
	for _, phone := range phones {
		go func() { _ = phone.Close() }()
	}
	_ = listener.Close()
	taking.Wait()
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
