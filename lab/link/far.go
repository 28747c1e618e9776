// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	// A connection whose peer does not read fills its own buffer, and leaves the others theirs.
	streamBufferBytes = 1 << 16
	streamsMax        = 200
)

// Targets are the addresses, host:port, that connections may go to, by the names that the near end gives.
type Targets map[string]string

// Serve is the far end of a link: it makes the connections that the near end asks for until the stream or the context
// ends. The error is nil if either ended it.
func Serve(ctx context.Context, stream net.Conn, targets Targets, log *slog.Logger) error {
	listener := newSingle(stream)
	//nolint:gosec // no timeout for headers: it would end a link whose near end has nothing to carry yet
	server := &http.Server{
		Handler:   &far{targets: targets, log: log},
		Protocols: overStream(),
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     streamBufferBytes,
			MaxReceiveBufferPerConnection: streamsMax * streamBufferBytes,
			MaxConcurrentStreams:          streamsMax,
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the link: %w", err)
	}
	return nil
}

type far struct {
	targets Targets
	log     *slog.Logger
}

// ServeHTTP carries one connection.
func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
		return
	}
	address, known := f.targets[r.Host]
	if !known {
		http.Error(w, "no such target", http.StatusForbidden)
		return
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(r.Context(), "tcp", address)
	if err != nil {
		f.log.Warn("cannot connect", "target", r.Host, "address", address, "error", err)
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = conn.Close() }()
	response := http.NewResponseController(w)
	w.WriteHeader(http.StatusOK)
	if response.Flush() != nil {
		return
	}
	go f.up(conn, r.Body)
	// What is written is sent at once: the peers wait for each other.
	_, _ = io.Copy(flushed{w, response}, conn)
}

// up copies what the near end sends; a stream that was reset resets the connection.
func (*far) up(conn net.Conn, body io.Reader) {
	_, err := io.Copy(conn, body)
	tcp, ok := conn.(*net.TCPConn)
	switch {
	case !ok:
		_ = conn.Close()
	case err != nil:
		_ = tcp.SetLinger(0)
		_ = tcp.Close()
	default:
		_ = tcp.CloseWrite()
	}
}

type flushed struct {
	io.Writer

	response *http.ResponseController
}

func (f flushed) Write(data []byte) (int, error) {
	n, err := f.Writer.Write(data)
	if err == nil {
		err = f.response.Flush()
	}
	return n, err
}
