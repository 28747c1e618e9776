// SPDX-License-Identifier: Apache-2.0

package fleet

import "container/heap"

// timers orders agents by when they are due.
type timers []*agent

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].dueUS < t[j].dueUS }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].place, t[j].place = i, j
}

// Push is heap.Interface's.
func (t *timers) Push(x any) {
	if a, ok := x.(*agent); ok {
		a.place = len(*t)
		*t = append(*t, a)
	}
}

// Pop is heap.Interface's; agents are never taken out.
func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

func (t *timers) set(a *agent, dueUS int64) {
	if a.dueUS != dueUS {
		a.dueUS = dueUS
		heap.Fix(t, a.place)
	}
}
