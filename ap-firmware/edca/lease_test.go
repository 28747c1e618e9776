// SPDX-License-Identifier: Apache-2.0

package edca_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/internal/lease"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	be = airboundv1.AccessCategory_ACCESS_CATEGORY_BEST_EFFORT
	bk = airboundv1.AccessCategory_ACCESS_CATEGORY_BACKGROUND
)

// present is what the access point announces of its own: hostapd's defaults.
var present = edca.Values{
	edca.Background: {AIFSN: 7, CWMin: 15, CWMax: 1023}, edca.BestEffort: {AIFSN: 3, CWMin: 15, CWMax: 1023},
	edca.Video: {AIFSN: 2, CWMin: 7, CWMax: 15, TXOPLimit: 94},
	edca.Voice: {AIFSN: 2, CWMin: 3, CWMax: 7, TXOPLimit: 47},
}

func queue(category airboundv1.AccessCategory, aifsn uint32) *airboundv1.Edca {
	return &airboundv1.Edca{Category: category, Aifsn: aifsn, CwMin: 15, CwMax: 1023}
}

func set(generation uint64, leaseMS uint32, queues ...*airboundv1.Edca) *airboundv1.SetEdca {
	return &airboundv1.SetEdca{Generation: generation, LeaseMs: leaseMS, Queues: queues}
}

func parsed(category edca.Category, aifsn uint8) edca.Queue {
	return edca.Queue{Category: category, Parameters: edca.Parameters{AIFSN: aifsn, CWMin: 15, CWMax: 1023}}
}

// accept applies a command that must be accepted.
func accept(t *testing.T, l *edca.Lease, command *airboundv1.SetEdca, want lease.Outcome) {
	t.Helper()
	if got, err := l.Set(0, command, present); err != nil || got != want {
		t.Errorf("%v: %v, %v, want %v", command, got, err, want)
	}
}

// refuse applies a command that must be refused and must change nothing.
func refuse(t *testing.T, l *edca.Lease, command *airboundv1.SetEdca, want string) {
	t.Helper()
	before := l.InForce()
	if _, err := l.Set(0, command, present); err == nil || err.Error() != want {
		t.Errorf("%v: %v, want %s", command, err, want)
	}
	if !reflect.DeepEqual(l.InForce(), before) {
		t.Errorf("%v: in force is %+v, before %+v", command, l.InForce(), before)
	}
}

func TestTheOrderOfTheQueuesMeansNothing(t *testing.T) {
	t.Parallel()
	var l edca.Lease
	accept(t, &l, set(7, 6000, queue(be, 5), queue(bk, 4)), lease.Replaced)
	if got := l.Queues(); !slices.Equal(got, []edca.Queue{parsed(edca.Background, 4), parsed(edca.BestEffort, 5)}) {
		t.Errorf("%v", got)
	}
	accept(t, &l, set(7, 2000, queue(bk, 4), queue(be, 5)), lease.Prolonged)
	refuse(t, &l, set(7, 2000, queue(bk, 4)), "set_edca: generation 7 came before with other entries")
	accept(t, &l, set(8, 0), lease.Emptied)
}

func TestTheLimits(t *testing.T) {
	t.Parallel()
	parameters := func(aifsn, cwMin, cwMax, txop uint32) *airboundv1.SetEdca {
		return set(1, 6000, &airboundv1.Edca{Category: be, Aifsn: aifsn, CwMin: cwMin, CwMax: cwMax, TxopLimit: txop})
	}
	for _, command := range []*airboundv1.SetEdca{
		parameters(2, 1, 1, 0), parameters(7, 63, 1023, 94), parameters(3, 63, 63, 0),
		set(1, 1000, queue(be, 5)), set(1, 60_000, queue(bk, 5)),
	} {
		accept(t, new(edca.Lease), command, lease.Replaced)
	}
	other := func(category airboundv1.AccessCategory) *airboundv1.SetEdca { return set(1, 6000, queue(category, 5)) }
	for want, command := range map[string]*airboundv1.SetEdca{
		"queues[0]: aifsn 1 of best effort is not within 2 to 7":          parameters(1, 15, 63, 0),
		"queues[0]: aifsn 8 of best effort is not within 2 to 7":          parameters(8, 15, 63, 0),
		"queues[0]: cw_min 0 of best effort is not within 1 to 63":        parameters(3, 0, 63, 0),
		"queues[0]: cw_min 127 of best effort is not within 1 to 63":      parameters(3, 127, 1023, 0),
		"queues[0]: cw_min 16 of best effort is not 2^k - 1":              parameters(3, 16, 63, 0),
		"queues[0]: cw_max 2047 of best effort is not within 1 to 1023":   parameters(3, 15, 2047, 0),
		"queues[0]: cw_max 62 of best effort is not 2^k - 1":              parameters(3, 15, 62, 0),
		"queues[0]: cw_min 63 of best effort is above cw_max 31":          parameters(3, 63, 31, 0),
		"queues[0]: txop_limit 95 of best effort is not within 0 to 94":   parameters(3, 15, 63, 95),
		"queues[0]: aifsn 4294967295 of best effort is not within 2 to 7": parameters(1<<32-1, 15, 63, 0),
		"queues[0]: ACCESS_CATEGORY_VIDEO cannot be set: only best effort and background can": other(
			airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO,
		),
		"queues[0]: ACCESS_CATEGORY_VOICE cannot be set: only best effort and background can": other(
			airboundv1.AccessCategory_ACCESS_CATEGORY_VOICE,
		),
		"queues[0]: ACCESS_CATEGORY_UNSPECIFIED is no access category": other(0),
		"queues[0]: 9 is no access category":                           other(9),
		"queues[1]: repeats category best effort":                      set(1, 6000, queue(be, 5), queue(be, 5)),
		"lease_ms 999 is not within 1000 to 60000":                     set(1, 999, queue(be, 5)),
		"lease_ms 60001 is not within 1000 to 60000":                   set(1, 60_001, queue(be, 5)),
	} {
		refuse(t, new(edca.Lease), command, "set_edca: "+want)
	}
}

func stationsSet(generation uint64, leaseMS uint32, stations ...*airboundv1.Edca) *airboundv1.SetEdca {
	return &airboundv1.SetEdca{Generation: generation, LeaseMs: leaseMS, Stations: stations}
}

func TestWhatIsAnnouncedIsPartOfTheSet(t *testing.T) {
	t.Parallel()
	var l edca.Lease
	both := set(1, 6000, queue(be, 5))
	both.Stations = []*airboundv1.Edca{queue(be, 4)}
	accept(t, &l, both, lease.Replaced)
	if !slices.Equal(l.Queues(), []edca.Queue{parsed(edca.BestEffort, 5)}) ||
		!slices.Equal(l.Announced(), []edca.Queue{parsed(edca.BestEffort, 4)}) {
		t.Errorf("%+v", l.InForce())
	}
	accept(t, &l, both, lease.Prolonged)
	// Another announcement alone is another set, and needs another generation.
	refuse(t, &l, set(1, 6000, queue(be, 5)), "set_edca: generation 1 came before with other entries")
	refuse(t, &l, stationsSet(1, 6000, queue(be, 5)), "set_edca: generation 1 came before with other entries")
	accept(t, &l, stationsSet(2, 6000, queue(be, 4)), lease.Replaced)
	if len(l.Queues()) != 0 || len(l.Announced()) != 1 {
		t.Errorf("%+v", l.InForce())
	}
	refuse(t, &l, stationsSet(3, 0, queue(be, 4)), "set_edca: lease_ms 0 is not within 1000 to 60000")
	refuse(t, &l, stationsSet(3, 6000, queue(bk, 5), queue(bk, 4)),
		"set_edca: stations[1]: repeats category background")
	accept(t, &l, set(3, 0), lease.Emptied)
}

func TestTheLimitsOfWhatIsAnnounced(t *testing.T) {
	t.Parallel()
	parameters := func(aifsn, cwMin, cwMax, txop uint32) *airboundv1.SetEdca {
		return stationsSet(1, 6000,
			&airboundv1.Edca{Category: be, Aifsn: aifsn, CwMin: cwMin, CwMax: cwMax, TxopLimit: txop})
	}
	for _, command := range []*airboundv1.SetEdca{
		parameters(2, 3, 63, 0), parameters(15, 1023, 1023, 94), stationsSet(1, 6000, queue(bk, 7), queue(be, 3)),
	} {
		accept(t, new(edca.Lease), command, lease.Replaced)
	}
	for want, command := range map[string]*airboundv1.SetEdca{
		"stations[0]: aifsn 1 of best effort is not within 2 to 15":       parameters(1, 15, 63, 0),
		"stations[0]: aifsn 16 of best effort is not within 2 to 15":      parameters(16, 15, 63, 0),
		"stations[0]: cw_min 1 of best effort is not within 3 to 1023":    parameters(3, 1, 63, 0),
		"stations[0]: cw_min 2047 of best effort is not within 3 to 1023": parameters(3, 2047, 2047, 0),
		"stations[0]: cw_min 16 of best effort is not 2^k - 1":            parameters(3, 16, 63, 0),
		"stations[0]: cw_max 31 of best effort is not within 63 to 1023":  parameters(3, 15, 31, 0),
		"stations[0]: cw_max 64 of best effort is not 2^k - 1":            parameters(3, 15, 64, 0),
		"stations[0]: cw_min 127 of best effort is above cw_max 63":       parameters(3, 127, 63, 0),
		"stations[0]: txop_limit 95 of best effort is not within 0 to 94": parameters(3, 15, 63, 95),
		"stations[0]: 9 is no access category":                            stationsSet(1, 6000, queue(9, 5)),
	} {
		refuse(t, new(edca.Lease), command, "set_edca: "+want)
	}
}

func admitted(category airboundv1.AccessCategory, aifsn, cwMin, cwMax, txop uint32) *airboundv1.Edca {
	return &airboundv1.Edca{
		Category: category, Aifsn: aifsn, CwMin: cwMin, CwMax: cwMax, TxopLimit: txop, Admission: true,
	}
}

// Video and voice are announced as they are to stations that are admitted, or without advantage over best effort.
func TestPriorities(t *testing.T) {
	t.Parallel()
	const vi, vo = airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO, airboundv1.AccessCategory_ACCESS_CATEGORY_VOICE
	free := func(message *airboundv1.Edca) *airboundv1.Edca {
		message.Admission = false
		return message
	}
	for _, stations := range [][]*airboundv1.Edca{
		{admitted(vi, 2, 7, 15, 94)},
		{admitted(vo, 2, 3, 7, 47), admitted(vi, 2, 7, 15, 94), queue(be, 5)},
		{free(admitted(vi, 3, 15, 1023, 0))},
		{admitted(vi, 3, 15, 1023, 0)},
		{free(admitted(vi, 2, 7, 63, 10)), {Category: be, Aifsn: 2, CwMin: 7, CwMax: 63, TxopLimit: 10}},
	} {
		var l edca.Lease
		accept(t, &l, stationsSet(1, 6000, stations...), lease.Replaced)
		if got := l.Announced(); len(got) != len(stations) || got[len(got)-1].Category < edca.Video && len(got) == 1 {
			t.Errorf("%v", got)
		}
		for _, queue := range l.Announced() {
			for _, message := range stations {
				if message.GetCategory() == vi && queue.Category == edca.Video &&
					queue.Admission != message.GetAdmission() {
					t.Errorf("%v of %v", queue, message)
				}
			}
		}
	}
	now := admitted(vi, 2, 7, 15, 94)
	const notPresent = ", best effort's, and these are not the present values " +
		"(AIFSN 2, CW 7 to 15, TXOP limit 94) with admission"
	for want, stations := range map[string][]*airboundv1.Edca{
		"stations[0]: cw_max 15 of video is not within 63 to 1023":            {free(admitted(vi, 2, 7, 15, 94))},
		"stations[0]: cw_max 31 of video is not within 63 to 1023":            {admitted(vi, 2, 7, 31, 94)},
		"stations: video: aifsn 2 is below 3" + notPresent:                    {free(admitted(vi, 2, 15, 1023, 0))},
		"stations: video: cw_min 7 is below 15" + notPresent:                  {admitted(vi, 3, 7, 1023, 0)},
		"stations: video: cw_max 511 is below 1023" + notPresent:              {free(admitted(vi, 3, 15, 511, 0))},
		"stations: video: txop_limit 94 is above 0" + notPresent:              {admitted(vi, 3, 15, 1023, 94)},
		"stations: video: aifsn 4 is below 5" + notPresent:                    {queue(be, 5), queue(vi, 4)},
		"stations[1]: repeats category video":                                 {now, now},
		"stations[0]: admission of best effort: only video and voice have it": {admitted(be, 3, 15, 1023, 0)},
		"stations[0]: aifsn 258 of video is not within 2 to 15":               {admitted(vi, 258, 7, 15, 94)},
	} {
		refuse(t, new(edca.Lease), stationsSet(1, 6000, stations...), "set_edca: "+want)
	}
	refuse(t, new(edca.Lease), set(1, 6000, admitted(be, 3, 15, 63, 0)),
		"set_edca: queues[0]: admission of best effort: the access point's own queues have none")
}

func TestMessages(t *testing.T) {
	t.Parallel()
	values := edca.Values{
		edca.Background: {AIFSN: 7, CWMin: 15, CWMax: 1023}, edca.BestEffort: {AIFSN: 3, CWMin: 15, CWMax: 63},
		edca.Video: {AIFSN: 1, CWMin: 7, CWMax: 15, TXOPLimit: 94},
		edca.Voice: {AIFSN: 1, CWMin: 3, CWMax: 7, TXOPLimit: 47},
	}
	got := values.Messages()
	for i, want := range []struct {
		category                  airboundv1.AccessCategory
		aifsn, cwMin, cwMax, txop uint32
	}{
		{bk, 7, 15, 1023, 0},
		{be, 3, 15, 63, 0},
		{airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO, 1, 7, 15, 94},
		{airboundv1.AccessCategory_ACCESS_CATEGORY_VOICE, 1, 3, 7, 47},
	} {
		if message := got[i]; message.GetCategory() != want.category || message.GetAifsn() != want.aifsn ||
			message.GetCwMin() != want.cwMin || message.GetCwMax() != want.cwMax ||
			message.GetTxopLimit() != want.txop {
			t.Errorf("%d: %v, want %v", i, message, want)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d messages", len(got))
	}
	if got := values.Of([]edca.Category{edca.Voice, edca.BestEffort, edca.Voice}); !slices.Equal(
		edca.CategoriesOf(got), []edca.Category{edca.BestEffort, edca.Voice}) {
		t.Errorf("%v", got)
	}
	if got := parsed(edca.BestEffort, 5).String(); got != "best effort: AIFSN 5, CW 15 to 1023, TXOP limit 0" {
		t.Error(got)
	}
	if got := edca.Category(9).String(); got != "category 9" {
		t.Error(got)
	}
}
