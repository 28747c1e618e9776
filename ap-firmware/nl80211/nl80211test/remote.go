// SPDX-License-Identifier: Apache-2.0

package nl80211test

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
)

// A kernel serves every process of its machine. Listen and DialPath give a fake one to another process, over a Unix
// socket with one connection for each client.

// query is one request of a client in another process.
type query struct {
	Request genetlink.Message
	Header  netlink.Message
}

// answer is what the kernel returns.
type answer struct {
	Messages []genetlink.Message
	IsEOF    bool
	// Whether it is an acknowledgement, and then which.
	IsAcknowledgement bool
	Errno             syscall.Errno
	Failure           string
}

// Listen answers clients of other processes on a Unix socket until close is called.
func (k *Kernel) Listen(path string) (closeListener func() error, err error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for other processes: %w", err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go k.serve(conn)
		}
	}()
	return listener.Close, nil
}

func (k *Kernel) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	decoder, encoder := gob.NewDecoder(conn), gob.NewEncoder(conn)
	for {
		var received query
		if decoder.Decode(&received) != nil {
			return
		}
		messages, err := k.answer(received.Request, received.Header)
		reply := answer{Messages: messages, IsEOF: errors.Is(err, io.EOF)}
		if errno, isAnswer := errors.AsType[acknowledgement](err); isAnswer {
			reply.IsAcknowledgement, reply.Errno = true, syscall.Errno(errno)
		} else if err != nil {
			reply.Failure = err.Error()
		}
		if encoder.Encode(reply) != nil {
			return
		}
	}
}

// DialPath connects to a kernel of another process.
func DialPath(path string) (*genetlink.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connect to the kernel of another process: %w", err)
	}
	decoder, encoder := gob.NewDecoder(conn), gob.NewEncoder(conn)
	return dial(func(request genetlink.Message, header netlink.Message) ([]genetlink.Message, error) {
		var reply answer
		err := encoder.Encode(query{Request: request, Header: header})
		if err == nil {
			err = decoder.Decode(&reply)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("ask the kernel of another process: %w", err)
		case reply.IsEOF:
			return nil, io.EOF
		case reply.IsAcknowledgement:
			return nil, acknowledgement(reply.Errno)
		case reply.Failure != "":
			return nil, errors.New(reply.Failure)
		}
		return reply.Messages, nil
	}), nil
}
