// SPDX-License-Identifier: Apache-2.0

package rival

import (
	"context"
	"fmt"
	"net"
)

// connectionsOfTurn is enough for all records of the longest outage of the survey, 10 s, each on one of its own.
const connectionsOfTurn = 100

// inTurn sends each record over the next of many connections, as Baba, Nishikawa and Kato (2007) do: a record waits
// for no other one's retransmission.
type inTurn struct {
	nothing

	queues []*queue
	next   int
}

// Start makes all connections.
func (i *inTurn) Start(ctx context.Context, env *Env) error {
	if err := serve(ctx, env, false); err != nil {
		return err
	}
	for number := range connectionsOfTurn {
		conn, err := dial(ctx, env, nil)
		if err != nil {
			return fmt.Errorf("connection %d: %w", number, err)
		}
		q := newQueue()
		i.queues = append(i.queues, q)
		go pass(env, conn, q)
	}
	return nil
}

func pass(env *Env, conn net.Conn, q *queue) {
	for {
		if err := write(env, conn, q.take()); err != nil {
			env.Failed(err)
			return
		}
	}
}

// Send queues a record for the connection whose turn it is.
func (i *inTurn) Send(data []byte) {
	i.queues[i.next].put(data)
	i.next = (i.next + 1) % len(i.queues)
}
