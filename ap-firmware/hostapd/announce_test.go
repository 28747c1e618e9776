// SPDX-License-Identifier: Apache-2.0

package hostapd_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/hostapd/hostapdtest"
)

var (
	wide   = edca.Queue{Category: edca.BestEffort, Parameters: edca.Parameters{AIFSN: 5, CWMin: 63, CWMax: 1023}}
	narrow = edca.Queue{Category: edca.BestEffort, Parameters: edca.Parameters{AIFSN: 2, CWMin: 7, CWMax: 63}}
	asked  = edca.Queue{Category: edca.Video, Parameters: edca.Parameters{
		AIFSN: 2, CWMin: 7, CWMax: 15, TXOPLimit: 94, Admission: true,
	}}
	video = edca.Queue{Category: edca.Video, Parameters: edca.Parameters{AIFSN: 5, CWMin: 63, CWMax: 1023}}
	voice = edca.Queue{Category: edca.Voice, Parameters: edca.Parameters{
		AIFSN: 2, CWMin: 3, CWMax: 7, TXOPLimit: 47, Admission: true,
	}}
	slow = edca.Queue{Category: edca.Background, Parameters: edca.Parameters{AIFSN: 9, CWMin: 31, CWMax: 511}}
)

// radio starts fake hostapds of one radio and returns the directory of their sockets.
func radio(t *testing.T, names ...string) (string, []*hostapdtest.Server) {
	t.Helper()
	//nolint:usetesting // as in dial
	directory, err := os.MkdirTemp("", "hostapd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	var servers []*hostapdtest.Server
	for _, name := range names {
		server := hostapdtest.New(name)
		if len(servers) > 0 {
			server.Share(servers[0])
		}
		servers = append(servers, server)
	}
	for i, server := range servers {
		if err := server.Listen(filepath.Join(directory, names[i])); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Kill() })
	}
	return directory, servers
}

// unknown is what hostapd announces by default; announcements must reach stations also where it is something else.
var unknown = hostapd.DefaultSettings(true).Stations

func announceTo(t *testing.T, path string, before edca.Values, queues ...edca.Queue) error {
	t.Helper()
	isChanged, err := hostapd.Announce(path, filepath.Base(path), before, queues,
		func(err error) { t.Errorf("malformed: %v", err) })
	if err == nil && !isChanged {
		t.Error("an announcement that changed nothing")
	}
	return err
}

// check checks what stations see of an announcement that began after the beacon `before`: the values and another
// parameter set count at its end, and at no time a CWmin above its CWmax, unless it was not known what is announced.
func check(t *testing.T, what string, server *hostapdtest.Server, before int, want edca.Values, isKnown bool) {
	t.Helper()
	beacons := server.Beacons()
	for _, beacon := range beacons[before:] {
		for _, queue := range beacon.Values.Queues() {
			if isKnown && queue.CWMin > queue.CWMax {
				t.Errorf("%s: a beacon has %v", what, queue)
			}
		}
	}
	if last := beacons[len(beacons)-1]; last.Values != want || last.Count == beacons[before].Count {
		t.Errorf("%s: %+v, before %+v, want %v", what, last, beacons[before], want)
	}
}

func TestAnAnnouncementReachesTheStations(t *testing.T) {
	t.Parallel()
	directory, servers := radio(t, "wlan0")
	server, path := servers[0], filepath.Join(directory, "wlan0")
	own := hostapd.DefaultSettings(true).Stations
	// Each pair of states, so that none, some and all of the SETs change something.
	states := [][]edca.Queue{
		{wide},
		{narrow},
		{slow},
		{slow, wide},
		{slow, narrow},
		{slow, wide},
		{slow, wide},
		{wide},
		{wide},
		own.Of([]edca.Category{edca.Background, edca.BestEffort}),
		{narrow},
		{asked},
		{video},
		{asked, voice},
		{wide, asked, voice},
		{slow, wide, video, voice},
		own.Queues(),
		{slow, narrow, asked, voice},
		own.Queues(),
	}
	for _, isKnown := range []bool{true, false} {
		for _, queues := range states {
			before := len(server.Beacons()) - 1
			was := server.Announced()
			if !isKnown {
				was = unknown
			}
			want := server.Announced().With(queues)
			if err := announceTo(t, path, was, queues...); err != nil {
				t.Fatal(err)
			}
			check(t, queues[0].String(), server, before, want, isKnown)
		}
	}
}

// Whether a station must be admitted is announced before values that are better than before, and taken back after those
// that are worse: no beacon has both the better values and no admission.
func TestAdmissionIsAnnouncedFirstAndEndsLast(t *testing.T) {
	t.Parallel()
	directory, servers := radio(t, "wlan0")
	server, path := servers[0], filepath.Join(directory, "wlan0")
	for i, queue := range []edca.Queue{video, asked, video} {
		from := len(server.Beacons())
		if err := announceTo(t, path, server.Announced(), queue); err != nil {
			t.Fatal(err)
		}
		for _, beacon := range server.Beacons()[from:] {
			now := beacon.Values[edca.Video]
			isBetter := now.AIFSN < video.AIFSN || now.CWMin < video.CWMin || now.TXOPLimit > video.TXOPLimit
			if i > 0 && isBetter && !now.Admission {
				t.Errorf("%v: a beacon has %v", queue, now)
			}
		}
	}
}

// Stations may have slept, or the announcements follow each other within a beacon interval: the count is another one
// after any number of them below 16.
func TestNoSequenceOfAnnouncementsIsMissed(t *testing.T) {
	t.Parallel()
	directory, servers := radio(t, "wlan0", "wlan0-1")
	path := filepath.Join(directory, "wlan0-1")
	random := rand.New(rand.NewPCG(7, 11))
	states := [][]edca.Queue{
		{wide}, {narrow}, {unknown.Queues()[edca.BestEffort]}, {asked}, {wide, asked, voice}, unknown.Queues(), {video},
	}
	counts := [][]int{{0}, {0}}
	for range 100 {
		if err := announceTo(t, path, servers[0].Announced(), states[random.IntN(len(states))]...); err != nil {
			t.Fatal(err)
		}
		for i, server := range servers {
			beacons := server.Beacons()
			counts[i] = append(counts[i], beacons[len(beacons)-1].Count)
		}
	}
	for i := range counts {
		for first := range counts[i] {
			for later := first + 1; later < min(first+16, len(counts[i])); later++ {
				if counts[i][first] == counts[i][later] {
					t.Fatalf("BSS %d: after announcements %d and %d the count is the same", i, first, later)
				}
			}
		}
	}
}

// The other BSSs of a radio announce the same, and their stations take it over.
func TestAnAnnouncementReachesTheStationsOfOtherBSSs(t *testing.T) {
	t.Parallel()
	for _, sender := range []int{0, 2} {
		directory, servers := radio(t, "wlan0", "wlan0-1", "wlan0-2")
		path := filepath.Join(directory, []string{"wlan0", "", "wlan0-2"}[sender])
		for _, queues := range [][]edca.Queue{{slow, wide}, {wide}, {slow, narrow}, {slow, narrow}} {
			before := make([]int, 0, len(servers))
			for _, server := range servers {
				before = append(before, len(server.Beacons())-1)
			}
			want := servers[0].Announced().With(queues)
			if err := announceTo(t, path, servers[0].Announced(), queues...); err != nil {
				t.Fatal(err)
			}
			for i, server := range servers {
				check(t, path, server, before[i], want, true)
			}
		}
		// One of them cannot be reached: nothing is set.
		if err := servers[1].Kill(); err != nil {
			t.Fatal(err)
		}
		before := servers[0].Announced()
		err := announceTo(t, path, unknown, wide)
		if err == nil || !strings.Contains(err.Error(), "wlan0-1 of the same radio: ") || !hostapd.IsGone(err) {
			t.Error(err)
		}
		if got := servers[0].Announced(); got != before {
			t.Errorf("%v, before %v", got, before)
		}
	}
}

func TestAnAnnouncementThatFails(t *testing.T) {
	t.Parallel()
	directory, servers := radio(t, "wlan0")
	server, path := servers[0], filepath.Join(directory, "wlan0")
	for answer, want := range map[string]error{
		"FAIL\n": hostapd.ErrRefused, "UNKNOWN COMMAND\n": hostapd.ErrRefused, "WHAT\n": hostapd.ErrMalformed,
	} {
		server.Answer("SET", answer)
		isChanged, err := hostapd.Announce(path, "wlan0", unknown, []edca.Queue{wide}, func(error) {})
		// A server that answers otherwise than hostapd does may have made the change.
		if isChanged != errors.Is(want, hostapd.ErrMalformed) {
			t.Errorf("%q: changed %v: %v", answer, isChanged, err)
		}
		if err := announceTo(t, path, unknown, wide); !errors.Is(err, want) || hostapd.IsGone(err) ||
			!strings.HasPrefix(err.Error(), "announce EDCA parameters of wlan0: ") {
			t.Errorf("%q: %v", answer, err)
		}
	}
	server.AnswerAsUsual("SET")
	isChanged, err := hostapd.Announce(path, "wlan1", unknown, []edca.Queue{wide}, func(error) {})
	if err == nil || isChanged || !strings.Contains(err.Error(), `socket serves ["wlan0"], not wlan1`) {
		t.Error(err)
	}
	server.Mute()
	if err := announceTo(t, path, unknown, wide); err == nil || hostapd.IsGone(err) {
		t.Error(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := announceTo(t, path, unknown, wide); !hostapd.IsGone(err) {
		t.Error(err)
	}
	if got := len(server.Beacons()); got != 1 {
		t.Errorf("%d beacons", got)
	}
}

// Real hostapd of OpenWrt's user takes every value that can be announced, and refuses an AIFSN of 0.
func TestARealHostapdTakesAnnouncements(t *testing.T) {
	path, _ := jailed(t, true)
	now := unknown
	for _, queues := range [][]edca.Queue{
		{wide},
		{slow, narrow},
		{asked},
		{narrow, asked, voice},
		{slow, wide, video, voice},
		hostapd.DefaultSettings(true).Stations.Queues(),
		{{Category: edca.BestEffort, Parameters: edca.Parameters{AIFSN: 15, CWMin: 1023, CWMax: 1023, TXOPLimit: 94}}},
	} {
		if err := announceTo(t, path, now, queues...); err != nil {
			t.Errorf("%v: %v", queues, err)
		}
		now = now.With(queues)
	}
	none := edca.Queue{Category: edca.BestEffort, Parameters: edca.Parameters{AIFSN: 0, CWMin: 15, CWMax: 1023}}
	if err := announceTo(t, path, now, none); !errors.Is(err, hostapd.ErrRefused) ||
		!strings.Contains(err.Error(), "SET wmm_ac_be_aifs 0") {
		t.Error(err)
	}
}
