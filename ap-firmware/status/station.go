// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"strings"
)

// Station is what a station did between two reports that are some seconds apart. Directions are those of a person: up
// is what the station sends.
type Station struct {
	MAC string `json:"mac"`
	// Addresses are its IP addresses, as far as the access point's neighbour table has them.
	Addresses []string `json:"addresses,omitempty"`
	SignalDBm *int32   `json:"signal_dbm,omitempty"`
	// The PHY's rates.
	UpPHYKbps   uint32 `json:"up_phy_kbps"`
	DownPHYKbps uint32 `json:"down_phy_kbps"`
	// Payload and headers above 802.11.
	UpKbps   uint64 `json:"up_kbps"`
	DownKbps uint64 `json:"down_kbps"`
	// AirPercent is the part of the time that its frames, in both directions, were in the air.
	AirPercent float64 `json:"air_percent"`
	// Uploads is whether it sends more than the ACKs of what it receives.
	Uploads bool `json:"uploads"`
	// Round-trip times of the station's connections that send: their mean, and the smallest; 0 if unknown.
	SRTTUS   uint32 `json:"srtt_us,omitempty"`
	MinRTTUS uint32 `json:"min_rtt_us,omitempty"`
	// LimitBytes is the limit of the set in force: the bytes that each connection of the station may have in flight. 0
	// means that there is no limit.
	LimitBytes uint32 `json:"limit_bytes,omitempty"`
}

const kbpsPerMbps = 1000

// describeStations prints one line for each station.
func describeStations(line printer, stations []Station) {
	label := "devices"
	for i := range stations {
		s := &stations[i]
		name := s.MAC
		if len(s.Addresses) > 0 {
			name += " " + s.Addresses[0]
		}
		parts := []string{
			fmt.Sprintf("air %.1f %%", s.AirPercent),
			fmt.Sprintf("up %.1f Mb/s", float64(s.UpKbps)/kbpsPerMbps),
			fmt.Sprintf("down %.1f Mb/s", float64(s.DownKbps)/kbpsPerMbps),
		}
		if s.SignalDBm != nil {
			parts = append(parts, fmt.Sprintf("%d dBm", *s.SignalDBm))
		}
		if s.SRTTUS != 0 {
			parts = append(parts, fmt.Sprintf("RTT %.1f ms (least %.1f ms)", milliseconds(s.SRTTUS),
				milliseconds(s.MinRTTUS)))
		}
		if s.LimitBytes != 0 {
			parts = append(parts, fmt.Sprintf("limit %d bytes", s.LimitBytes))
		}
		line(label, "%s: %s", name, strings.Join(parts, ", "))
		label = ""
	}
}

func milliseconds(us uint32) float64 { return float64(us) / 1000 }

// ByAir compares stations by their part of the air, the largest first.
func ByAir(a, b Station) int {
	return cmp.Or(cmp.Compare(b.AirPercent, a.AirPercent), cmp.Compare(a.MAC, b.MAC))
}
