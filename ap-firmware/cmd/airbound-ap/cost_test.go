// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
)

const (
	costStations = 128
	costReports  = 100
	costInterval = "100ms"
)

// BenchmarkCost runs the agent as a process of its own with 128 stations in all, of one BSS or of four, and reports its
// CPU time for each report of a BSS and its resident memory:
//
//	go test -run '^$' -bench Cost -benchtime 1x ./ap-firmware/cmd/airbound-ap
//
// Reports come ten times a second, so that it takes 10 s; at 1 Hz each costs the same. The kernel is the fake one, in
// the benchmark's process: what the agent takes to decode the fake's messages (encoding/gob) is included.
func BenchmarkCost(b *testing.B) {
	for _, bsss := range []int{1, 4} {
		b.Run(fmt.Sprintf("%d BSSs", bsss), func(b *testing.B) {
			for b.Loop() {
				measureCost(b, bsss)
			}
		})
	}
}

func measureCost(b *testing.B, bsss int) {
	b.Helper()
	c := newCellOf(b)
	devices := make([]nl80211test.Device, bsss)
	for i := range devices {
		devices[i] = costDevice(uint32(i+indexOfWLAN0), costStations/bsss)
	}
	c.kernel.Set(devices...)
	arguments := []string{
		"run", "--plain-text", "--controller", c.options.controller.String(), "--interval", costInterval,
		"--hostapd-control", c.options.state.parent + "/none", "--state-dir", c.options.state.parent,
		"--log-level", "error",
	}
	agent := exec.Command("/proc/self/exe", arguments...)
	agent.Stderr = b.Output()
	if err := agent.Start(); err != nil {
		b.Fatal(err)
	}
	for range 10 * bsss { // Until it has its memory and its connections.
		<-c.reports
	}
	before := cpuTime(b, agent.Process.Pid)
	for range costReports {
		<-c.reports
	}
	passed := cpuTime(b, agent.Process.Pid) - before
	resident, own := residentKB(b, agent.Process.Pid, "VmRSS"), residentKB(b, agent.Process.Pid, "RssAnon")
	_ = agent.Process.Signal(syscall.SIGTERM)
	if err := agent.Wait(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(passed.Microseconds())/1000/costReports, "ms-CPU/report")
	b.ReportMetric(resident, "kB-resident")
	b.ReportMetric(own, "kB-own") // The rest is the program's text, here with the fake's and the tests'.
}

func costDevice(index uint32, stations int) nl80211test.Device {
	device := accessPointDevice(index, fmt.Sprintf("wlan%d", index), index%2, 5180)
	device.Surveys = []nl80211.Survey{{FrequencyMHz: 5180, InUse: true, ActiveMS: new(uint64(1000)), BusyMS: 400}}
	for i := range stations {
		device.Stations = append(device.Stations, nl80211.Station{
			MAC: mac.Address{2, 0, byte(index), 0, 1, byte(i)}, Associated: true, Authorized: true, WMM: true,
			SignalDBM: new(int8(-60)), RXBytes: 1 << 33, TXBytes: 1 << 32, RXPackets: 1 << 23, TXPackets: 1 << 22,
			RXBitrate:   nl80211.Bitrate{Kbps: 433_300, Format: nl80211.FormatVHT},
			TXBitrate:   nl80211.Bitrate{Kbps: 86_700},
			RXAirtimeUS: new(uint64(1 << 30)), TXAirtimeUS: new(uint64(1 << 29)), ConnectedSeconds: 3600,
		})
	}
	return device
}

// cpuTime is that of all threads of a process: user and system, in ticks of 10 ms.
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	const utimeAt, tick = 11, 10 * time.Millisecond // after the name, which may have spaces
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	var ticks int64
	for _, field := range fields[utimeAt : utimeAt+2] {
		part, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += part
	}
	return time.Duration(ticks) * tick
}

// residentKB is a field of /proc/PID/status.
func residentKB(b *testing.B, pid int, field string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, field+":"); found {
			kB, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kB
		}
	}
	b.Fatalf("no %s", field)
	return 0
}
