// SPDX-License-Identifier: Apache-2.0

package controllerclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
)

// idleWithin is how long a stream that is replaced may take to write the report it is writing. One that takes longer is
// ended at once: its connection takes nothing more.
const idleWithin = 50 * time.Millisecond

// succession is a connection that is ready for the next stream, and the end of the stream whose place that takes.
//
// An agent that ended one stream before it was heard on the next would be unknown to the controller in between, and the
// others of its cell would be given its share. So the old one stays open, unused, until then.
type succession struct {
	conn      *grpc.ClientConn
	endBefore func()
}

// session opens a stream, on the connection it is given or else on one of its own, and returns when the stream has
// ended, or another one is to take its place: that is then to be opened by the next session. The error is never nil
// unless there is a successor.
func session[Req, Resp any](
	ctx context.Context, cfg Config, stream *Stream[Req, Resp], waiting *newest[Req], from *succession,
	times *answerTimes, onOpen func(),
) (next *succession, err error) {
	if from == nil {
		// A new connection is no older than what was to be replaced.
		drain(cfg.Replace)
		drain(cfg.Moved)
		conn, err := dial(cfg)
		if err != nil {
			return nil, err
		}
		from = &succession{conn: conn, endBefore: func() {}}
	}
	endBefore := sync.OnceFunc(from.endBefore)
	defer endBefore()
	ctx, cancel := context.WithCancelCause(ctx)
	opened, err := open(ctx, cfg, stream, from.conn, cancel)
	if err != nil {
		cancel(nil)
		return nil, errors.Join(err, from.conn.Close())
	}
	waiting.drop()
	onOpen()
	stream.OnState(true)
	defer stream.OnState(false)

	defer time.AfterFunc(times.wait(), endBefore).Stop()
	defer time.AfterFunc(acceptedAfter, func() { cfg.Denied(nil) }).Stop()
	check := &answers{times: times, end: cancel}
	defer check.stop()
	var reported atomic.Bool
	receiver := receive(opened, stream, check, func() {
		if reported.Load() {
			endBefore()
		}
	})
	end := func() error {
		cancel(nil)
		<-receiver.ended
		err := receiver.err
		if cause := context.Cause(ctx); errors.Is(cause, errNoAnswer) {
			err = cause
		}
		return errors.Join(err, from.conn.Close())
	}

	using, stop := context.WithCancel(ctx)
	defer stop()
	sender := make(chan struct{})
	go func() {
		defer close(sender)
		send(using, opened, waiting.out, func() { reported.Store(true); check.sends() }, check.sent)
	}()
	replaced := make(chan *grpc.ClientConn, 1)
	go func() { replaced <- replacement(using, cfg) }()

	var successor *grpc.ClientConn
	select {
	case successor = <-replaced:
		stop()
	case <-receiver.ended:
		stop()
		successor = <-replaced
	}
	receiver.mute()
	if successor == nil {
		err = end()
		<-sender
		return nil, err
	}
	select {
	case <-sender:
	case <-time.After(idleWithin):
		_ = end()
		<-sender
	}
	return &succession{conn: successor, endBefore: func() { _ = end() }}, nil
}

// open opens a stream on a connection, unless the machine moves meanwhile.
func open[Req, Resp any](
	ctx context.Context, cfg Config, stream *Stream[Req, Resp], conn *grpc.ClientConn, cancel context.CancelCauseFunc,
) (grpc.BidiStreamingClient[Req, Resp], error) {
	if stream.IsAnswer != nil {
		ctx = askForAnswers(ctx)
	}
	stopWatching := watchMoves(cfg.Moved, cancel)
	opened, err := stream.Open(ctx, conn)
	switch {
	case stopWatching():
		return nil, errMoved
	case err != nil:
		return nil, fmt.Errorf("open stream: %w", advised(err))
	}
	return opened, nil
}

// receiver reads a stream to its end.
type receiver struct {
	// ended is closed with the stream; err is why.
	ended chan struct{}
	err   error

	mu    sync.Mutex
	muted bool
}

// receive has messages handled until the receiver is muted. received is called with each message before.
func receive[Req, Resp any](
	opened grpc.BidiStreamingClient[Req, Resp], stream *Stream[Req, Resp], check *answers, received func(),
) *receiver {
	r := &receiver{ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		for {
			message, err := opened.Recv()
			switch {
			case errors.Is(err, io.EOF):
				r.err = errClosedByController
				return
			case err != nil:
				r.err = fmt.Errorf("receive from stream: %w", advised(err))
				return
			}
			isAnswer := stream.IsAnswer != nil && stream.IsAnswer(message)
			check.received(isAnswer)
			received()
			switch {
			case !isAnswer:
				r.handle(func() { stream.Handle(message) })
			case stream.Answered != nil:
				r.handle(func() { stream.Answered(message) })
			}
		}
	}()
	return r
}

func (r *receiver) handle(message func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.muted {
		message()
	}
}

// mute has no further message handled.
func (r *receiver) mute() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.muted = true
}

// send writes messages until the stream breaks: sends is called before each, and sent after it. Recv returns the cause
// of a break, Send does not.
func send[Req, Resp any](
	ctx context.Context, stream grpc.BidiStreamingClient[Req, Resp], outgoing <-chan *Req, sends, sent func(),
) {
	for {
		select {
		case <-ctx.Done():
			return
		case message := <-outgoing:
			sends()
			if stream.Send(message) != nil {
				return
			}
			sent()
		}
	}
}
