// SPDX-License-Identifier: Apache-2.0

package edca

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// RecordSchema is the version of Record's JSON. A reader refuses another.
const RecordSchema = 1

// Record is what must be written back if the agent that set parameters ends without doing so. It is saved before
// anything is set.
type Record struct {
	Schema int `json:"schema"`
	// Agent is a random name of the agent process, which a later process does not have, whatever its PID is.
	Agent     string `json:"agent"`
	Interface string `json:"interface"`
	// Own has the access point's own values of the queues that are set.
	Own []Queue `json:"own"`
	// OwnStations has what the access point announces of its own, of the queues that are announced otherwise.
	OwnStations []Queue `json:"own_stations,omitempty"`
	// Announced has what is announced instead.
	Announced []Queue `json:"announced,omitempty"`
	// DeadlineUS is when the lease ended as the record was written, CLOCK_MONOTONIC.
	DeadlineUS int64 `json:"lease_ends_monotonic_us"`
}

// ParseRecord reads a saved record. It refuses values that a kernel would.
func ParseRecord(text []byte) (Record, error) {
	var record Record
	if err := json.Unmarshal(text, &record); err != nil {
		return Record{}, fmt.Errorf("parse the record of own values: %w", err)
	}
	if err := record.check(); err != nil {
		return Record{}, fmt.Errorf("parse the record of own values: %w", err)
	}
	return record, nil
}

func (r Record) check() error {
	switch {
	case r.Schema != RecordSchema:
		return fmt.Errorf("its schema is %d, this program reads %d", r.Schema, RecordSchema)
	case r.Interface == "":
		return errors.New("no interface")
	case len(r.Own)+len(r.OwnStations) == 0:
		return errors.New("no queue")
	}
	// hostapd announces a window of 0.
	return errors.Join(checkRecorded(r.Own, 1), checkRecorded(r.OwnStations, 0), checkRecorded(r.Announced, 0))
}

// checkRecorded takes the smallest CWmin that there can be.
func checkRecorded(queues []Queue, cwLeast uint16) error {
	seen := make([]Category, 0, categoriesTotal)
	for _, queue := range queues {
		if slices.Contains(seen, queue.Category) {
			return fmt.Errorf("%s is there twice", queue.Category)
		}
		seen = append(seen, queue.Category)
		isCW := func(slots uint16) bool { return slots == 0 && cwLeast == 0 || IsCW(int(slots)) }
		if !isCW(queue.CWMin) || !isCW(queue.CWMax) || queue.CWMin > queue.CWMax {
			return fmt.Errorf("%s is no queue's", queue)
		}
	}
	return nil
}
