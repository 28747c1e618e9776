// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// Config is a phone's end.
type Config struct {
	// TLS, unless nil, is for the TCP connections.
	TLS *tls.Config
	// Interval is between two records and two datagrams; 0 is the paper's 100 ms.
	Interval time.Duration
	// Events are the phone's arrivals; nil is none.
	Events <-chan string
	// Duration is how long the survey takes; 0 is until the context ends.
	Duration time.Duration
	// Drain is how long the last records may take after the survey; 0 is 2 minutes.
	Drain time.Duration
	// Saved, unless nil, is called now and then with a copy of the log so far. The survey goes on meanwhile.
	Saved func(*Log)
	// SaveInterval is between two calls of Saved; 0 is 10 minutes.
	SaveInterval time.Duration
}

const (
	drain        = 2 * time.Minute
	saveInterval = 10 * time.Minute
)

// errRefused is a server that has too many surveys.
var errRefused = errors.New("the server refuses the survey: it has too many")

var errNoAnswer = fmt.Errorf("no answer within %s", handshakeTimeout)

// phone is a survey that runs.
type phone struct {
	cfg     Config
	session Session
	keys    Keys
	clock   wallClock

	mutex sync.Mutex
	log   *Log
	// Datagrams of the server's that were refused.
	refused uint64
}

// Result is the outcome of a survey.
type Result struct {
	Log *Log
	// RefusedDatagrams were malformed or not authentic.
	RefusedDatagrams uint64
}

// Run surveys the way to a server until the context ends, and returns what is known then. An error is about the
// beginning, without a Result, or a connection that has broken, with what is known until then.
func Run(ctx context.Context, server string, cfg Config) (*Result, error) {
	if cfg.Interval == 0 {
		cfg.Interval = DefaultInterval
	}
	if cfg.Drain == 0 {
		cfg.Drain = drain
	}
	if cfg.SaveInterval == 0 {
		cfg.SaveInterval = saveInterval
	}
	p := &phone{cfg: cfg, clock: startWallClock(), log: &Log{}}
	var key Key
	_, _ = rand.Read(p.session[:])
	_, _ = rand.Read(key[:]) // Neither fails.
	p.keys = NewKeys(key)
	control, port, err := p.dial(ctx, server, Hello{Control, p.session, key})
	if err != nil {
		return nil, err
	}
	defer func() { _ = control.Close() }()
	data, _, err := p.dial(ctx, server, Hello{Data, p.session, key})
	if err != nil {
		return nil, err
	}
	defer func() { _ = data.Close() }()
	host, _, err := net.SplitHostPort(data.RemoteAddr().String())
	if err != nil {
		return nil, fmt.Errorf("find the server's address: %w", err)
	}
	datagrams, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil {
		return nil, fmt.Errorf("open a socket for datagrams: %w", err)
	}
	defer func() { _ = datagrams.Close() }()
	err = p.run(ctx, control, data, datagrams)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return &Result{p.log, p.refused}, err
}

func (p *phone) dial(ctx context.Context, server string, hello Hello) (net.Conn, uint16, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, handshakeTimeout, errNoAnswer)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", server)
	if err != nil {
		return nil, 0, fmt.Errorf("connect to the server: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if p.cfg.TLS != nil {
		config := p.cfg.TLS.Clone()
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(server)
		}
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, 0, fmt.Errorf("connect to the server: %w", err)
		}
		conn = secure
	}
	octets := make([]byte, answerBytes)
	_, err = conn.Write(hello.Append(nil))
	if err == nil {
		_, err = io.ReadFull(conn, octets)
	}
	var answer Answer
	if err == nil {
		answer, err = ParseAnswer(octets)
	}
	if err == nil && answer.Role != hello.Role {
		err = errRefused
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // Rather than that the connection was closed for it.
	}
	if err != nil {
		_ = conn.Close()
		return nil, 0, fmt.Errorf("begin the survey with %s: %w", server, err)
	}
	return conn, answer.UDPPort, nil
}

// run has all that goes on at a time. Only the end of the context, or of a connection, ends it.
func (p *phone) run(ctx context.Context, control, data, datagrams net.Conn) error {
	if p.cfg.Duration > 0 {
		timed, end := context.WithTimeout(ctx, p.cfg.Duration)
		defer end()
		ctx = timed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var receiving, sending sync.WaitGroup
	receiving.Go(func() { p.receiveDatagrams(datagrams) })
	received := make(chan error, 1)
	go func() {
		err := p.receiveReceipts(control)
		received <- err
		if err == nil {
			err = errEnded
		}
		cancel(err)
	}()
	sending.Go(func() { p.sendDatagrams(ctx, datagrams) })
	sending.Go(func() { p.noteEvents(ctx) })
	if p.cfg.Saved != nil {
		sending.Go(func() { p.save(ctx) })
	}
	sent := make(chan error, 1)
	go func() {
		err := p.sendRecords(ctx, data)
		if err != nil {
			cancel(err)
		}
		sent <- err
	}()
	<-ctx.Done()
	// The records that are on their way may take as long as TCP needs. A write that waits ends with them.
	deadline := time.Now().Add(p.cfg.Drain)
	_ = data.SetDeadline(deadline)
	err := <-sent
	if err == nil {
		err = p.drained(data)
	}
	_ = control.SetDeadline(deadline.Add(handshakeTimeout))
	if half, can := control.(interface{ CloseWrite() error }); can {
		_ = half.CloseWrite()
	}
	if endErr := <-received; endErr != nil && err == nil {
		err = endErr
	}
	_ = datagrams.Close()
	sending.Wait()
	receiving.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errEnded) && err == nil {
		err = cause
	}
	return err
}

var errEnded = errors.New("the server has ended the survey")

// drained waits until the server has all records: it closes then.
func (*phone) drained(data net.Conn) error {
	if half, can := data.(interface{ CloseWrite() error }); can {
		_ = half.CloseWrite()
	}
	if _, err := io.Copy(io.Discard, data); err != nil {
		return fmt.Errorf("wait for the last records: %w", err)
	}
	return nil
}

func (p *phone) sendRecords(ctx context.Context, data net.Conn) error {
	ticker := time.NewTicker(p.cfg.Interval)
	defer ticker.Stop()
	// A full send buffer must not stop the records: they wait, as in a program that goes on meanwhile.
	queue := make(chan []byte, queueMax)
	written := make(chan error, 1)
	go func() {
		for record := range queue {
			if _, err := data.Write(record); err != nil {
				written <- fmt.Errorf("send a record: %w", err)
				return
			}
		}
		written <- nil
	}()
	for {
		select {
		case <-ctx.Done():
			close(queue)
			return <-written
		case err := <-written:
			return err
		case <-ticker.C:
		}
		if len(queue) == cap(queue) {
			continue
		}
		if sequence, at, noted := p.sent(TCPUp); noted {
			queue <- AppendRecord(nil, sequence, at)
		}
	}
}

// queueMax are the records of 10 minutes at 100 ms.
const queueMax = 6000

// sent notes a packet that is sent now.
func (p *phone) sent(series Series) (sequence uint64, atUS int64, noted bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	atUS = p.clock.nowUS()
	sequence, noted = p.log.Sent(series, atUS)
	return sequence, atUS, noted
}

func (p *phone) sendDatagrams(ctx context.Context, datagrams net.Conn) {
	ticker := time.NewTicker(p.cfg.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if sequence, at, noted := p.sent(UDPUp); noted {
			// Without a way it is lost, which the table shows.
			_, _ = datagrams.Write(Up{p.session, sequence, at}.Append(nil, p.keys))
		}
	}
}

func (p *phone) receiveDatagrams(datagrams net.Conn) {
	octets := make([]byte, DownBytes+1)
	for {
		n, err := datagrams.Read(octets)
		at := p.clock.nowUS()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // An ICMP error that an earlier datagram caused.
		}
		datagram, err := ParseDown(octets[:n], p.session, p.keys)
		p.mutex.Lock()
		if err != nil {
			p.refused++
		} else {
			p.log.ReceivedDown(datagram, at)
		}
		p.mutex.Unlock()
	}
}

func (p *phone) receiveReceipts(control net.Conn) error {
	reader := bufio.NewReader(control)
	octets := make([]byte, receiptBytes)
	for {
		if _, err := io.ReadFull(reader, octets); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("receive receipts: %w", err)
		}
		receipt, err := ParseReceipt(octets)
		if err != nil {
			return fmt.Errorf("receive receipts: %w", err)
		}
		p.mutex.Lock()
		p.log.Received(receipt)
		p.mutex.Unlock()
	}
}

func (p *phone) noteEvents(ctx context.Context) {
	events := p.cfg.Events
	for {
		select {
		case <-ctx.Done():
			return
		case text, open := <-events:
			if !open {
				events = nil
				continue
			}
			p.mutex.Lock()
			p.log.Event(p.clock.nowUS(), text)
			p.mutex.Unlock()
		}
	}
}

func (p *phone) save(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(p.cfg.SaveInterval):
		}
		p.mutex.Lock()
		log := p.log.clone()
		p.mutex.Unlock()
		p.cfg.Saved(log)
	}
}
