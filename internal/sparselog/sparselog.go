// SPDX-License-Identifier: Apache-2.0

// Package sparselog decides which of many like events are worth a line in the log: the 1st, the 2nd, the 4th, the 8th
// and so on. An event that recurs with every packet costs at most 64 lines, and its count stays visible.
package sparselog

import (
	"math/bits"
	"sync"
)

// Due reports whether a count that went from before to after is to be logged: whether it passed a power of two.
func Due(before, after uint64) bool { return bits.Len64(before) != bits.Len64(after) }

// Add adds n to a count and reports whether to log that.
func Add(count *uint64, n uint64) bool {
	before := *count
	*count += n
	return Due(before, *count)
}

// Counter is a count that several goroutines may use. Its zero value is ready.
type Counter struct {
	mutex sync.Mutex
	total uint64
}

// Add counts one event and returns the count so far and whether to log it.
func (c *Counter) Add() (total uint64, due bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	due = Add(&c.total, 1)
	return c.total, due
}

// Total returns the count so far.
func (c *Counter) Total() uint64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.total
}
