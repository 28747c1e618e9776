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
func entriesOf(command *airboundv1.SetEdca, stations Values) ([]Entry, error) {
	queues, err := queuesOf("queues", command.GetQueues(), ownQueueOf)
	if err != nil {
		return nil, err
	}
	announced, err := queuesOf("stations", command.GetStations(), func(message *airboundv1.Edca) (Queue, error) {
		return stationsQueueOf(message, stations)
	})
	if err != nil {
		return nil, err
	}
	if err := checkPriorities(announced, stations); err != nil {
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
func queuesOf(
	name string, messages []*airboundv1.Edca, queueOf func(*airboundv1.Edca) (Queue, error),
) ([]Queue, error) {
	queues := make([]Queue, 0, min(len(messages), categoriesTotal))
	for i, message := range messages {
		queue, err := queueOf(message)
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

// ownQueueOf refuses the queues of voice, which carries management frames as well, and of video.
func ownQueueOf(message *airboundv1.Edca) (Queue, error) {
	category, err := categoryOf(message.GetCategory())
	switch {
	case err != nil:
		return Queue{}, err
	case isPriority(category):
		return Queue{}, fmt.Errorf("%s cannot be set: only best effort and background can", message.GetCategory())
	case message.GetAdmission():
		return Queue{}, fmt.Errorf("admission of %s: the access point's own queues have none", category)
	}
	return queueWithin(message, category, ownLimits)
}

// stationsQueueOf takes the stations' present values of video and voice as they are, if they are for those that are
// admitted.
func stationsQueueOf(message *airboundv1.Edca, stations Values) (Queue, error) {
	category, err := categoryOf(message.GetCategory())
	if err != nil {
		return Queue{}, err
	}
	if message.GetAdmission() {
		if !isPriority(category) {
			return Queue{}, fmt.Errorf("admission of %s: only video and voice have it", category)
		}
		if isPresent(message, stations[category]) {
			return Queue{Category: category, Parameters: parametersOf(message)}, nil
		}
	}
	return queueWithin(message, category, stationsLimits)
}

func isPresent(message *airboundv1.Edca, present Parameters) bool {
	return message.GetAifsn() == uint32(present.AIFSN) && message.GetCwMin() == uint32(present.CWMin) &&
		message.GetCwMax() == uint32(present.CWMax) && message.GetTxopLimit() == uint32(present.TXOPLimit)
}

// checkPriorities refuses values of video and voice that give them an advantage over best effort, unless they are the
// present ones, of stations that are admitted: no set makes these categories take more of the air than they do now.
func checkPriorities(announced []Queue, stations Values) error {
	bestEffort := stations.With(announced)[BestEffort]
	for _, queue := range announced {
		present := stations[queue.Category]
		present.Admission = true
		if !isPriority(queue.Category) || queue.Parameters == present {
			continue
		}
		if advantage := queue.advantageOver(bestEffort); advantage != "" {
			return fmt.Errorf("stations: %s: %s, best effort's, and these are not the present values (%s) with "+
				"admission", queue.Category, advantage, stations[queue.Category])
		}
	}
	return nil
}

func isPriority(category Category) bool { return category == Video || category == Voice }

func queueWithin(message *airboundv1.Edca, category Category, within limits) (Queue, error) {
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

func categoryOf(category airboundv1.AccessCategory) (Category, error) {
	for known, message := range messageCategories {
		if message == category {
			return Category(known), nil
		}
	}
	return 0, fmt.Errorf("%s is no access category", category)
}
