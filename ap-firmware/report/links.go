// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"github.com/airbound/airbound/ap-firmware/nl80211"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// channel returns nil if there is none.
func channel(in nl80211.Channel) *airboundv1.Channel {
	if in.FrequencyMHz == 0 {
		return nil
	}
	return &airboundv1.Channel{
		CenterFrequencyMhz: in.CenterFrequencyMHz, WidthMhz: in.WidthMHz, Band: BandOf(in.FrequencyMHz),
		PrimaryFrequencyMhz: in.FrequencyMHz, SecondCenterFrequencyMhz: in.SecondCenterFrequencyMHz,
	}
}

// addLinks adds the links of a multi-link device. The channel and the survey of the only link are the report's as well;
// of several links, none is: each has its own stations and its own air.
func (r *Reporter) addLinks(report *airboundv1.AccessPointReport, kernel nl80211.Snapshot) {
	if r.links == nil {
		r.links = map[uint8]*surveys{}
	}
	for i, each := range kernel.Interface.Links {
		if r.links[each.ID] == nil {
			r.links[each.ID] = &surveys{}
		}
		link := &airboundv1.Link{
			LinkId: uint32(each.ID), Bssid: slices.Clone(each.MAC[:]), Channel: channel(each.Channel),
		}
		if i < len(kernel.LinkSurveys) {
			var refusal string
			if link.Survey, refusal = r.links[each.ID].next(kernel.LinkSurveys[i]); refusal != "" {
				report.SurveyRefusal = refusal
			}
		}
		report.Links = append(report.Links, link)
	}
	if len(report.GetLinks()) == 1 {
		report.Channel, report.Survey = report.GetLinks()[0].GetChannel(), report.GetLinks()[0].GetSurvey()
	}
}

func (r *Reporter) refusedSurveys() uint64 {
	total := r.surveys.refusedTotal
	for _, each := range r.links {
		total += each.refusedTotal
	}
	return total
}

// linkBits has bit n for link n.
func linkBits(links []nl80211.StationLink) (bits uint32) {
	for _, each := range links {
		bits |= 1 << each.ID
	}
	return bits
}
