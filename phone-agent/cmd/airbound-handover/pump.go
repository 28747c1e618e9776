// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/airbound/airbound/phone-agent/handover"
)

// readBytes is the largest record of a pipe without lines.
const readBytes = 16 << 10

// pumpIn sends what can be read until its end.
func pumpIn(ctx context.Context, from io.Reader, conn *handover.Conn, lines bool) error {
	if lines {
		scanner := bufio.NewScanner(from)
		scanner.Buffer(make([]byte, 0, readBytes), handover.PayloadBytesMax+1) // A newline may follow.
		for scanner.Scan() {
			if _, err := conn.Send(ctx, scanner.Bytes()); err != nil {
				return err
			}
		}
		if err := scanner.Err(); err != nil {
			return fmt.Errorf("read a line of the input: %w", err)
		}
		return nil
	}
	buffer := make([]byte, readBytes)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := conn.Send(ctx, buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the input: %w", err)
		}
	}
}

// pumpOut writes each record, until the peer's end. A record is confirmed once it is written.
func pumpOut(ctx context.Context, conn *handover.Conn, write func(handover.Record) error) error {
	for {
		record, err := conn.Receive(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := write(record); err != nil {
			return fmt.Errorf("write a record: %w", err)
		}
	}
}

// pumpBoth carries another program's connection, with its half-closes, until both directions have ended.
func pumpBoth(ctx context.Context, local net.Conn, conn *handover.Conn) error {
	stop := context.AfterFunc(ctx, func() { _ = local.Close() })
	defer stop()
	up := make(chan error, 1)
	go func() {
		err := pumpIn(ctx, local, conn, false)
		conn.CloseWrite()
		up <- err
	}()
	err := pumpOut(ctx, conn, func(record handover.Record) error {
		_, err := local.Write(record.Data)
		return err
	})
	if err != nil {
		_ = local.Close() // The program learns it; what it still sends is lost.
	} else if half, can := local.(interface{ CloseWrite() error }); can {
		_ = half.CloseWrite()
	}
	err = errors.Join(err, <-up)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	return conn.Shutdown(ctx)
}
