// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
	"github.com/airbound/airbound/ap-firmware/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// reported puts a report into the state file.
func (q *queues) reported(nowUS int64, message *airboundv1.AccessPointReport, kernel nl80211.Interface) {
	bss := status.BSS{
		BSSID: mac.Address(message.GetBssid()).String(), SSID: printable(message.GetSsid()),
		FrequencyMHz: kernel.FrequencyMHz, Band: report.BandName(report.BandOf(kernel.FrequencyMHz)),
		StationsReported: len(message.GetStations()), LastReportUS: nowUS,
	}
	for _, link := range message.GetLinks() {
		bss.Links = append(bss.Links, link.GetLinkId())
	}
	known := q.state.BSS
	known.LastReportUS = nowUS
	q.saved.due = q.saved.due || !reflect.DeepEqual(known, bss)
	q.state.BSS = bss
	q.failing("", &q.sampleError)
	q.save(nowUS)
}

// printable is an SSID for a person and for JSON: 802.11 does not promise text.
func printable(ssid []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '\x7f' {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(string(ssid), "\ufffd"))
}

// failing takes over one of the two errors of the status; an empty text ends it.
func (q *queues) failing(text string, which *string) {
	*which = text
	if last := cmp.Or(q.sampleError, q.connectionError); last != q.state.LastError {
		q.state.LastError, q.saved.due = last, true
	}
}
