// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/airbound/airbound/ap-firmware/report"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// printTable prints a report for a person.
func printTable(stdout io.Writer, message *airboundv1.AccessPointReport) error {
	var page bytes.Buffer
	fmt.Fprintf(&page, "%s  BSSID %s  SSID %q  %s\n", message.GetInterface(),
		net.HardwareAddr(message.GetBssid()), message.GetSsid(), channelText(message.GetChannel()))
	for _, link := range message.GetLinks() {
		fmt.Fprintf(&page, "link %d  BSSID %s  %s\n", link.GetLinkId(), net.HardwareAddr(link.GetBssid()),
			channelText(link.GetChannel()))
	}
	if survey := message.GetSurvey(); survey.GetActiveUs() > 0 {
		share := func(partUS uint64) float64 { return 100 * float64(partUS) / float64(survey.GetActiveUs()) }
		fmt.Fprintf(
			&page,
			"channel busy %.1f %%, receiving %.1f %%, transmitting %.1f %% of %.0f s\n",
			share(
				survey.GetBusyUs(),
			),
			share(survey.GetRxUs()),
			share(survey.GetTxUs()),
			float64(survey.GetActiveUs())/1e6,
		)
	} else if refusal := message.GetSurveyRefusal(); refusal != "" {
		fmt.Fprintf(&page, "the driver's survey of the channel is refused: %s\n", refusal)
	} else {
		fmt.Fprintln(&page, "the driver gives no survey of the channel")
	}
	table := tabwriter.NewWriter(&page, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(
		table,
		"station\tup MB\tdown MB\tup Mb/s\tdown Mb/s\tup air s\tdown air s\tairtime\tretries\tsignal dBm\t"+
			"connected s\taggregates\taddresses\t",
	)
	for _, station := range message.GetStations() {
		signal := "?"
		if station.SignalDbm != nil {
			signal = strconv.Itoa(int(station.GetSignalDbm()))
		}
		fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%s\t%d\t%s\t%d\t%s\t%s\t\n",
			net.HardwareAddr(station.GetMac()),
			float64(station.GetRxBytes())/1e6, float64(station.GetTxBytes())/1e6,
			float64(station.GetRxBitrateKbps())/1e3, float64(station.GetTxBitrateKbps())/1e3,
			float64(station.GetRxAirtimeUs())/1e6, float64(station.GetTxAirtimeUs())/1e6,
			sourceName(station.GetAirtimeSource()), station.GetTxRetries(), signal, station.GetConnectedTimeMs()/1e3,
			yesOrNo(station.GetAggregates()), addressList(station.GetIpAddresses()))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("lay out report: %w", err)
	}
	if _, err := page.WriteTo(stdout); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

func channelText(channel *airboundv1.Channel) string {
	if channel == nil {
		return "no channel"
	}
	center := strconv.FormatUint(uint64(channel.GetCenterFrequencyMhz()), 10)
	if second := channel.GetSecondCenterFrequencyMhz(); second != 0 {
		center += fmt.Sprintf(" and %d", second)
	}
	text := fmt.Sprintf("%s MHz, %d MHz wide", center, channel.GetWidthMhz())
	if band := report.BandName(channel.GetBand()); band != "" {
		text += ", in " + band
	}
	return text
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func addressList(addresses [][]byte) string {
	texts := make([]string, len(addresses))
	for i, octets := range addresses {
		texts[i] = net.IP(octets).String()
	}
	return strings.Join(texts, " ")
}

func sourceName(source airboundv1.AirtimeSource) string {
	if source == airboundv1.AirtimeSource_AIRTIME_SOURCE_MEASURED {
		return "measured"
	}
	return "estimated"
}
