// SPDX-License-Identifier: Apache-2.0

package rival

import "sync"

// queue is of records that wait for a socket that accepts nothing more; it has no limit, as the study has an end.
type queue struct {
	lock    sync.Mutex
	filled  *sync.Cond
	records [][]byte
}

func newQueue() *queue {
	q := &queue{}
	q.filled = sync.NewCond(&q.lock)
	return q
}

// put adds a record at the end.
func (q *queue) put(data []byte) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.records = append(q.records, data)
	q.filled.Signal()
}

// take waits for the first record, and removes it.
func (q *queue) take() []byte {
	q.lock.Lock()
	defer q.lock.Unlock()
	for len(q.records) == 0 {
		q.filled.Wait()
	}
	first := q.records[0]
	q.records = q.records[1:]
	return first
}
