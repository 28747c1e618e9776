// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/quic-go/quic-go"
)

// Sender is one upload.
type Sender struct {
	// Name is that of the flow in the samples.
	Name string
	// To is the receiver, ADDRESS:PORT.
	To string
	// Start and Stop are when it sends.
	Start, Stop time.Duration
}

// sent is a sample of a sender; "retransmits" are packets that its loss detection took for lost.
type sent struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	AtMS      int64  `json:"t_ms"`
	SRTTUS    int64  `json:"srtt_us"`
	MinRTTUS  int64  `json:"min_rtt_us"`
	Lost      uint64 `json:"retransmits"`
	CwndBytes uint64 `json:"cwnd_bytes"`
}

// unconnected is what a sender writes whose handshake has not ended before its stop.
type unconnected struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Send sends from its start to its stop, and writes its samples. A cell so full that no connection comes about is a
// result, not an error.
func (s Sender) Send(ctx context.Context, clock Clock, out io.Writer) error {
	clock.SleepUntil(s.Start)
	ctx, cancel := context.WithTimeout(ctx, s.Stop-clock.now())
	defer cancel()
	//nolint:gosec // who the server is does not matter in the guest
	client := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13}
	conn, err := quic.DialAddr(ctx, s.To, client, &quic.Config{
		MaxIdleTimeout: idleTimeout, HandshakeIdleTimeout: s.Stop - s.Start,
	})
	if err != nil {
		if ctx.Err() == nil {
			return fmt.Errorf("connect to %s: %w", s.To, err)
		}
		return write(out, unconnected{"unconnected", s.Name})
	}
	stream, err := conn.OpenUniStreamSync(ctx)
	if err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	failed := make(chan error, 1)
	go func() { failed <- fill(stream) }()
	err = clock.everySecond(s.Stop, func(at time.Duration) error {
		select {
		case err := <-failed:
			return err
		default:
			return write(out, s.sample(at, conn.ConnectionStats()))
		}
	})
	if err != nil {
		return err
	}
	clock.SleepUntil(s.Stop)
	return conn.CloseWithError(0, "") //nolint:wrapcheck // it has all that is known
}

func (s Sender) sample(at time.Duration, stats quic.ConnectionStats) sent {
	return sent{
		Kind: "send", Name: s.Name, AtMS: at.Milliseconds(), SRTTUS: stats.SmoothedRTT.Microseconds(),
		MinRTTUS: stats.MinRTT.Microseconds(), Lost: stats.PacketsLost, CwndBytes: stats.CongestionWindow,
	}
}

// fill writes until the stream ends.
func fill(stream io.Writer) error {
	chunk := make([]byte, chunkBytes)
	for {
		if _, err := stream.Write(chunk); err != nil {
			return fmt.Errorf("write to the stream: %w", err)
		}
	}
}

func write(out io.Writer, sample any) error {
	line, err := json.Marshal(sample)
	if err != nil {
		return fmt.Errorf("write a sample: %w", err)
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write a sample: %w", err)
	}
	return nil
}
