// SPDX-License-Identifier: Apache-2.0

package edca

import (
	"cmp"
	"fmt"
	"slices"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Limits of what a controller may set. They keep a wrong command from silencing an access point or its stations: a
// queue that waits for the largest of them still sends.
const (
	// AIFSNMin is DCF's DIFS. An access point may have 1; with that it would take the air from every station.
	AIFSNMin = 2
	// AIFSNMax is 802.11's own default for background traffic: nobody waits longer by default.
	AIFSNMax = 7
	// CWLeast is the least that mac80211 takes.
	CWLeast = 1
	// CWMinMax and CWMaxMax are 802.11's largest defaults, but that CWmin may be four times as large.
	CWMinMax = 63
	CWMaxMax = 1023
	// StationsAIFSNMax is 802.11's largest, and AIFSNMin its smallest of a station (9.4.2.28).
	StationsAIFSNMax = 15
	// StationsCWLeast and StationsCWMaxLeast keep stations from colliding again and again: 802.11's smallest default,
	// and a CWmax that 10 senders can spread over.
	StationsCWLeast    = 3
	StationsCWMaxLeast = 63
	// TXOPLimitMax is 3.008 ms: 802.11's default for video, the longest of its defaults for OFDM.
	TXOPLimitMax = 94
)

// limits are what the parameters of one queue must be within. They are inclusive.
type limits struct{ aifsnMax, cwLeast, cwMinMax, cwMaxLeast uint32 }

var (
	ownLimits      = limits{aifsnMax: AIFSNMax, cwLeast: CWLeast, cwMinMax: CWMinMax, cwMaxLeast: CWLeast}
	stationsLimits = limits{
		aifsnMax: StationsAIFSNMax, cwLeast: StationsCWLeast, cwMinMax: CWMaxMax, cwMaxLeast: StationsCWMaxLeast,
	}
)

// entriesOf checks every queue of a set, and returns the access point's own before those that are announced.
func entriesOf(command *airboundv1.SetEdca) ([]Entry, error) {
	queues, err := queuesOf("queues", command.GetQueues(), ownLimits)
	if err != nil {
		return nil, err
	}
	announced, err := queuesOf("stations", command.GetStations(), stationsLimits)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(queues)+len(announced))
	for _, queue := range queues {
		entries = append(entries, Entry{Queue: queue})
	}
	for _, queue := range announced {
		entries = append(entries, Entry{IsAnnounced: true, Queue: queue})
	}
	return entries, nil
}

// queuesOf checks every queue of the field that has this name, and returns them in the order of the categories, or the
// error of the first that is wrong.
func queuesOf(name string, messages []*airboundv1.Edca, within limits) ([]Queue, error) {
	queues := make([]Queue, 0, min(len(messages), categoriesTotal))
	for i, message := range messages {
		queue, err := queueOf(message, within)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", name, i, err)
		}
		if slices.Contains(CategoriesOf(queues), queue.Category) {
			return nil, fmt.Errorf("%s[%d]: repeats category %s", name, i, queue.Category)
		}
		queues = append(queues, queue)
	}
	slices.SortFunc(queues, func(a, b Queue) int { return cmp.Compare(a.Category, b.Category) })
	return queues, nil
}

func queueOf(message *airboundv1.Edca, within limits) (Queue, error) {
	category, err := settable(message.GetCategory())
	if err != nil {
		return Queue{}, err
	}
	cwMin, cwMax := message.GetCwMin(), message.GetCwMax()
	for _, field := range []struct {
		name                   string
		value, lowest, highest uint32
		isCW                   bool
	}{
		{"aifsn", message.GetAifsn(), AIFSNMin, within.aifsnMax, false},
		{"cw_min", cwMin, within.cwLeast, within.cwMinMax, true},
		{"cw_max", cwMax, within.cwMaxLeast, CWMaxMax, true},
		{"txop_limit", message.GetTxopLimit(), 0, TXOPLimitMax, false},
	} {
		if field.value < field.lowest || field.value > field.highest {
			return Queue{}, fmt.Errorf("%s %d of %s is not within %d to %d",
				field.name, field.value, category, field.lowest, field.highest)
		}
		if field.isCW && !IsCW(int(field.value)) {
			return Queue{}, fmt.Errorf("%s %d of %s is not 2^k - 1", field.name, field.value, category)
		}
	}
	if cwMin > cwMax {
		return Queue{}, fmt.Errorf("cw_min %d of %s is above cw_max %d", cwMin, category, cwMax)
	}
	return Queue{Category: category, Parameters: parametersOf(message)}, nil
}

// settable refuses the queues of voice, which carries management frames as well, and of video.
func settable(category airboundv1.AccessCategory) (Category, error) {
	switch category {
	case airboundv1.AccessCategory_ACCESS_CATEGORY_BACKGROUND:
		return Background, nil
	case airboundv1.AccessCategory_ACCESS_CATEGORY_BEST_EFFORT:
		return BestEffort, nil
	case airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO, airboundv1.AccessCategory_ACCESS_CATEGORY_VOICE:
		return 0, fmt.Errorf("%s cannot be set: only best effort and background can", category)
	default:
		return 0, fmt.Errorf("%s is no access category", category)
	}
}
