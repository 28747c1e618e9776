// SPDX-License-Identifier: Apache-2.0

package handover_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/airbound/airbound/phone-agent/handover"
)

// A server and a phone in one process. A real phone gets its arrivals from the agent.
func Example() {
	ctx := context.Background()
	listener, err := handover.Listen("127.0.0.1:0", handover.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = listener.Close() }()

	arrivals := make(chan handover.Event)
	phone, err := handover.Dial(ctx, listener.Addr().String(), handover.Config{Events: arrivals})
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		for _, text := range []string{"first", "second"} {
			if _, err := phone.Send(ctx, []byte(text)); err != nil {
				fmt.Println(err)
			}
		}
		if err := phone.Shutdown(ctx); err != nil {
			fmt.Println(err)
		}
	}()

	server, err := listener.Accept(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	for {
		record, err := server.Receive(ctx)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %s\n", record.Sequence, record.Data)
	}
	// Output:
	// 1 first
	// 2 second
}
