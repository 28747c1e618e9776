// SPDX-License-Identifier: Apache-2.0

package hostapdtest

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/airbound/airbound/ap-firmware/edca"
)

// Beacon is what a BSS announces to its stations about EDCA parameters.
type Beacon struct {
	// Count is the parameter set count, 0 to 15. A station takes the values over if it is another one than before.
	Count  int
	Values edca.Values
}

// radio is what the BSSs of one radio share: wmm_ac_* of the configuration.
type radio struct {
	mu      sync.Mutex
	servers []*Server
	// values are configured, announced is what the first beacon was last made with.
	values, announced edca.Values
	counts            map[*Server]int
	beacons           map[*Server][]Beacon
}

// defaults are hostapd's wmm_ac_bk to wmm_ac_vo.
var defaults = edca.Values{
	edca.Background: {AIFSN: 7, CWMin: 15, CWMax: 1023}, edca.BestEffort: {AIFSN: 3, CWMin: 15, CWMax: 1023},
	edca.Video: {AIFSN: 2, CWMin: 7, CWMax: 15, TXOPLimit: 94},
	edca.Voice: {AIFSN: 2, CWMin: 3, CWMax: 7, TXOPLimit: 47},
}

func newRadio(s *Server) *radio {
	r := &radio{counts: map[*Server]int{}, beacons: map[*Server][]Beacon{}, values: defaults, announced: defaults}
	r.servers = []*Server{s}
	r.beacons[s] = []Beacon{{Values: defaults}}
	return r
}

// Share makes the server a further BSS of another one's radio. Both must not listen yet.
func (s *Server) Share(first *Server) {
	r := first.radio
	s.radio = r
	r.servers = append(r.servers, s)
	r.beacons[s] = []Beacon{{Values: r.values}}
}

// Restart makes the radio announce what its configuration file has, as a hostapd does that starts again.
func (s *Server) Restart(values edca.Values) {
	r := s.radio
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values, r.announced = values, values
	for _, each := range r.servers {
		r.counts[each] = 0
		r.beacons[each] = []Beacon{{Values: values}}
	}
}

// Beacons are those of the BSS since it started, one for each time that hostapd gave the kernel another.
func (s *Server) Beacons() []Beacon {
	s.radio.mu.Lock()
	defer s.radio.mu.Unlock()
	return slices.Clone(s.radio.beacons[s])
}

// Announced are the values of the last beacon.
func (s *Server) Announced() edca.Values {
	beacons := s.Beacons()
	return beacons[len(beacons)-1].Values
}

func (r *radio) interfaces() []string {
	names := make([]string, 0, len(r.servers))
	for _, each := range r.servers {
		names = append(names, each.networkInterface)
	}
	return names
}

var categories = map[string]edca.Category{
	"bk": edca.Background, "be": edca.BestEffort, "vi": edca.Video, "vo": edca.Voice,
}

// set is hostapd_ctrl_iface_set, and hostapd_config_wmm_ac of src/common/ieee802_11_common.c, for wmm_ac_*.
func (r *radio) set(server *Server, argument string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	key, text, found := strings.Cut(argument, " ")
	rest, isWMM := strings.CutPrefix(key, "wmm_ac_")
	name, field, _ := strings.Cut(rest, "_")
	category, known := categories[name]
	value, err := strconv.Atoi(text)
	if !found || !isWMM || !known || err != nil || !r.store(&r.values[category], field, value) {
		return "FAIL\n"
	}
	r.counts[server]++
	for i, each := range r.servers {
		if i == 0 && r.values != r.announced {
			r.announced = r.values
			r.counts[each]++
		}
		r.beacons[each] = append(r.beacons[each], Beacon{Count: r.counts[each] & 0xf, Values: r.values})
	}
	return "OK\n"
}

func (r *radio) store(into *edca.Parameters, field string, value int) bool {
	within := func(lowest, highest int) bool { return value >= lowest && value <= highest }
	switch {
	case field == "aifs" && within(1, 255):
		into.AIFSN = uint8(value) //nolint:gosec // checked
	case field == "cwmin" && within(0, 15):
		into.CWMin = 1<<value - 1
	case field == "cwmax" && within(0, 15):
		into.CWMax = 1<<value - 1
	case field == "txop_limit" && within(0, 1<<16-1):
		into.TXOPLimit = uint16(value) //nolint:gosec // checked
	case field == "acm" && within(0, 1):
		into.Admission = value == 1
	default:
		return false
	}
	return true
}
