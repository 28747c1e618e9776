// SPDX-License-Identifier: Apache-2.0

// Package edca has the EDCA parameters of an access point's own queues, and those that it announces to its stations
// (IEEE Std 802.11-2020, 10.23.2): which a controller may set, and for how long. It is pure: commands and the time come
// in, the set in force comes out. A set is a lease: without renewal the access point's own values return.
package edca

import (
	"errors"
	"fmt"
	"slices"
)

// Category is an access category: one of the four transmit queues of a radio.
type Category int

// The access categories, in the order of their priority.
const (
	Background Category = iota
	BestEffort
	Video
	Voice
)

// categoriesTotal is how many access categories there are.
const categoriesTotal = 4

var categoryNames = [categoriesTotal]string{"background", "best effort", "video", "voice"}

// String returns "best effort".
func (c Category) String() string {
	if c < 0 || c >= categoriesTotal {
		return fmt.Sprintf("category %d", int(c))
	}
	return categoryNames[c]
}

// MarshalText implements encoding.TextMarshaler with String.
func (c Category) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Category) UnmarshalText(text []byte) error {
	index := slices.Index(categoryNames[:], string(text))
	if index < 0 {
		return errors.New("parse access category: neither background, best effort, video nor voice")
	}
	*c = Category(index)
	return nil
}

// Parameters is how one queue contends for the air.
type Parameters struct {
	// AIFSN is how many slots the channel must have been idle, after a SIFS, before the back-off counts.
	AIFSN uint8 `json:"aifsn"`
	// CWMin and CWMax are the smallest and the largest contention window in slots, 2^k - 1.
	CWMin uint16 `json:"cw_min"`
	CWMax uint16 `json:"cw_max"`
	// TXOPLimit is how long one access may last, in units of 32 us; 0 for one frame.
	TXOPLimit uint16 `json:"txop_limit"`
	// Admission is whether a station may use the category only once it is admitted (ACM, 9.4.2.28). An access point's
	// own queues have none.
	Admission bool `json:"admission,omitempty"`
}

func (p Parameters) String() string {
	text := fmt.Sprintf("AIFSN %d, CW %d to %d, TXOP limit %d", p.AIFSN, p.CWMin, p.CWMax, p.TXOPLimit)
	if p.Admission {
		text += ", by admission"
	}
	return text
}

// advantageOver returns which of the parameters gives the air more often, or for longer, than those of another queue;
// empty if none does.
func (p Parameters) advantageOver(other Parameters) string {
	switch {
	case p.AIFSN < other.AIFSN:
		return fmt.Sprintf("aifsn %d is below %d", p.AIFSN, other.AIFSN)
	case p.CWMin < other.CWMin:
		return fmt.Sprintf("cw_min %d is below %d", p.CWMin, other.CWMin)
	case p.CWMax < other.CWMax:
		return fmt.Sprintf("cw_max %d is below %d", p.CWMax, other.CWMax)
	case p.TXOPLimit > other.TXOPLimit:
		return fmt.Sprintf("txop_limit %d is above %d", p.TXOPLimit, other.TXOPLimit)
	}
	return ""
}

// Queue is an access category and the parameters of its queue.
type Queue struct {
	Category Category `json:"category"`
	Parameters
}

func (q Queue) String() string { return q.Category.String() + ": " + q.Parameters.String() }

// Values has the parameters of every category.
type Values [categoriesTotal]Parameters

// Queues returns the values of all categories, background first.
func (v Values) Queues() []Queue {
	queues := make([]Queue, len(v))
	for i, parameters := range v {
		queues[i] = Queue{Category: Category(i), Parameters: parameters}
	}
	return queues
}

// With returns the values with those of some queues replaced.
func (v Values) With(queues []Queue) Values {
	for _, queue := range queues {
		v[queue.Category] = queue.Parameters
	}
	return v
}

// Of returns the values of some categories, in the order of the categories.
func (v Values) Of(categories []Category) []Queue {
	var queues []Queue
	for _, queue := range v.Queues() {
		if slices.Contains(categories, queue.Category) {
			queues = append(queues, queue)
		}
	}
	return queues
}

// CategoriesOf returns the categories of some queues.
func CategoriesOf(queues []Queue) []Category {
	categories := make([]Category, len(queues))
	for i, queue := range queues {
		categories[i] = queue.Category
	}
	return categories
}

// IsCW reports whether a number of slots is a contention window: 2^k - 1 with k from 1 to 15. cfg80211 knows no others,
// and mac80211 refuses 0.
func IsCW(slots int) bool {
	const most = 1<<15 - 1
	return slots >= 1 && slots <= most && slots&(slots+1) == 0
}
