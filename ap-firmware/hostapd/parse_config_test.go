// SPDX-License-Identifier: Apache-2.0

package hostapd_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
)

var dcf = edca.Parameters{AIFSN: 2, CWMin: 15, CWMax: 1023}

// with replaces the parameters of one category.
func with(values edca.Values, category edca.Category, parameters edca.Parameters) edca.Values {
	return values.With([]edca.Queue{{Category: category, Parameters: parameters}})
}

// admitted are values with admission of video.
func admitted(values edca.Values) edca.Values {
	values[edca.Video].Admission = true
	return values
}

func TestParseConfig(t *testing.T) {
	defaults := hostapd.DefaultSettings(true)
	own, announced := defaults.Own, defaults.Stations
	withoutWMM := edca.Values{dcf, dcf, dcf, dcf}
	tests := map[string]struct {
		text string
		want hostapd.Settings
	}{
		"nothing": {"interface=wlan0\n", hostapd.Settings{Own: own, Stations: withoutWMM}},
		"hostapd's own example": {
			"interface=wlan0\n# wme\nwmm_enabled=1\nwmm_ac_be_aifs=3\nwmm_ac_be_cwmin=4\nwmm_ac_be_cwmax=10\n" +
				"wmm_ac_be_txop_limit=0\nwmm_ac_be_acm=0\nwmm_ac_vi_txop_limit=94\n",
			hostapd.Settings{Own: own, Stations: announced, WMM: true},
		},
		"admission": {
			"interface=wlan0\nwmm_enabled=1\nwmm_ac_vi_acm=1\nwmm_ac_vo_acm=0\n",
			hostapd.Settings{Own: own, Stations: admitted(announced), WMM: true},
		},
		"its own queues": {
			"interface=wlan0\ntx_queue_data2_aifs=5\ntx_queue_data2_cwmin=31\ntx_queue_data2_cwmax=511\n" +
				"tx_queue_data2_burst=2.0\ntx_queue_data3_aifs=9\ntx_queue_data1_burst=1.5\ntx_queue_data0_cwmax=15\n",
			hostapd.Settings{
				Own: own.With([]edca.Queue{
					{
						Category:   edca.BestEffort,
						Parameters: edca.Parameters{AIFSN: 5, CWMin: 31, CWMax: 511, TXOPLimit: 63},
					},
					{Category: edca.Background, Parameters: edca.Parameters{AIFSN: 9, CWMin: 15, CWMax: 1023}},
					{
						Category:   edca.Video,
						Parameters: edca.Parameters{AIFSN: 1, CWMin: 7, CWMax: 15, TXOPLimit: 47},
					},
					{
						Category:   edca.Voice,
						Parameters: edca.Parameters{AIFSN: 1, CWMin: 3, CWMax: 15, TXOPLimit: 47},
					},
				}),
				Stations: withoutWMM,
			},
		},
		"what stations use, by the older names": {
			"interface=wlan0\nwme_enabled=1\nwme_ac_be_aifs=4\nwme_ac_be_cwmin=5\nwmm_ac_be_cwmax=9\n" +
				"wmm_ac_be_txop_limit=10\n",
			hostapd.Settings{
				Own: own, WMM: true,
				Stations: with(announced, edca.BestEffort,
					edca.Parameters{AIFSN: 4, CWMin: 31, CWMax: 511, TXOPLimit: 10}),
			},
		},
		"802.11n has WMM": {
			"ieee80211n=1\ninterface=wlan0\n",
			hostapd.Settings{Own: own, Stations: announced, WMM: true},
		},
		"802.11ax has WMM, a BSS need not": {
			"interface=wlan0\nieee80211ax=1\nieee80211n=0\nwmm_enabled=0\n",
			hostapd.Settings{Own: own, Stations: withoutWMM},
		},
		"two BSSs, the first": {
			"interface=wlan0\nwmm_enabled=1\nbss=wlan0-1\nwmm_enabled=0\ntx_queue_data2_aifs=4\n",
			hostapd.Settings{
				Own:      with(own, edca.BestEffort, edca.Parameters{AIFSN: 4, CWMin: 15, CWMax: 63}),
				Stations: announced, WMM: true,
			},
		},
		"as atoi reads it": {
			"interface=wlan0\r\ntx_queue_data2_aifs= 4 # four\r\n",
			hostapd.Settings{
				Own:      with(own, edca.BestEffort, edca.Parameters{AIFSN: 4, CWMin: 15, CWMax: 63}),
				Stations: withoutWMM,
			},
		},
		"the last one is valid": {
			"interface=wlan0\ntx_queue_data2_aifs=4\ntx_queue_data2_aifs=3",
			hostapd.Settings{Own: own, Stations: withoutWMM},
		},
	}
	for name, test := range tests {
		got, refused := hostapd.ParseConfig([]byte(test.text), "wlan0")
		if got != test.want || len(refused) > 0 {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", name, got, refused, test.want)
		}
	}
	// hostapd sets the queues of the first BSS alone.
	got, refused := hostapd.ParseConfig(
		[]byte("interface=wlan0\ntx_queue_data2_aifs=4\nbss=wlan0-1\nwmm_enabled=0\n"), "wlan0-1")
	if got.Own != announced || got.WMM || len(refused) > 0 {
		t.Errorf("the second BSS: %+v, %v", got, refused)
	}
}

func TestALineThatIsRefusedLeavesItsDefault(t *testing.T) {
	want := hostapd.DefaultSettings(false)
	for line, message := range map[string]string{
		"tx_queue_data2_aifs":                      `"tx_queue_data2_aifs" has no '='`,
		"tx_queue_data2_aifs=":                     "tx_queue_data2_aifs=: not a number",
		"tx_queue_data2_aifs=x3":                   "tx_queue_data2_aifs=x3: not a number",
		"tx_queue_data2_aifs=-1":                   "tx_queue_data2_aifs=-1 is not within 0 to 255",
		"tx_queue_data2_aifs=256":                  "tx_queue_data2_aifs=256 is not within 0 to 255",
		"tx_queue_data2_cwmin=0":                   "tx_queue_data2_cwmin=0 is not within 1 to 32767",
		"tx_queue_data2_cwmax=16":                  "tx_queue_data2_cwmax=16 is not 2^k - 1",
		"tx_queue_data2_cwmax=65535":               "tx_queue_data2_cwmax=65535 is not within 1 to 32767",
		"tx_queue_data2_burst=x":                   "tx_queue_data2_burst=x: not a number",
		"tx_queue_data2_burst=-1":                  "tx_queue_data2_burst=-1 is not within 0 to 2097.1",
		"tx_queue_data2_burst=2097.2":              "tx_queue_data2_burst=2097.2 is not within 0 to 2097.1",
		"tx_queue_data2_burts=1":                   "tx_queue_data2_burts is no parameter of a queue",
		"wmm_ac_be_aifs=0":                         "wmm_ac_be_aifs=0 is not within 1 to 255",
		"wmm_ac_be_cwmin=16":                       "wmm_ac_be_cwmin=16 is not within 0 to 15",
		"wmm_ac_be_txop_limit=65536":               "wmm_ac_be_txop_limit=65536 is not within 0 to 65535",
		"wmm_ac_be_txop_limits=1":                  "wmm_ac_be_txop_limits is no parameter of a queue",
		"wmm_enabled=2":                            "wmm_enabled=2 is not within 0 to 1",
		"ieee80211n=on":                            "ieee80211n=on: not a number",
		"tx_queue_data2_aifs=99999999999999999999": "tx_queue_data2_aifs=99999999999999999999 is not within 0 to 255",
	} {
		got, refused := hostapd.ParseConfig([]byte("interface=wlan0\n"+line+"\n"), "wlan0")
		if got != want || len(refused) != 1 || !errors.Is(refused[0], hostapd.ErrMalformed) ||
			refused[0].Error() != "line 2: malformed hostapd message: "+message {
			t.Errorf("%s: %+v, %v", line, got, refused)
		}
	}
}

func TestWindowsThatAKernelWouldRefuse(t *testing.T) {
	got, refused := hostapd.ParseConfig(
		[]byte("interface=wlan0\nwmm_enabled=1\ntx_queue_data2_cwmin=127\nwmm_ac_bk_cwmax=1\n"), "wlan0")
	if want := hostapd.DefaultSettings(true); got != want || len(refused) != 2 ||
		!strings.Contains(refused[0].Error(), "tx_queue: cwmin 127 of best effort is above cwmax 63") ||
		!strings.Contains(refused[1].Error(), "wmm_ac: cwmin 15 of background is above cwmax 1") {
		t.Errorf("%+v, %v", got, refused)
	}
}

func TestAnInterfaceThatTheFileDoesNotHave(t *testing.T) {
	got, refused := hostapd.ParseConfig([]byte("interface=wlan0\ntx_queue_data2_aifs=4\n"), "wlan1")
	if got.Own[edca.BestEffort].AIFSN != 4 || len(refused) != 1 ||
		!strings.HasSuffix(refused[0].Error(), "no interface=wlan1 or bss=wlan1") {
		t.Errorf("%+v, %v", got, refused)
	}
}

// FuzzParseConfig: whatever the file, the settings are a kernel's, and what was refused says so.
func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{
		"interface=wlan0\nwmm_enabled=1\ntx_queue_data2_cwmin=127\nwmm_ac_bk_cwmax=1\n",
		"bss=wlan0\nbss=wlan0\nieee80211be=1\n", "tx_queue_data0_burst=1.5\ntx_queue_data3_burst=.5", "=\n==\n_=\n",
		"tx_queue_data4_aifs=1\ntx_queue_=1\nwmm_ac_xx_aifs=1\nwmm_ac_be_txop_=1\n", "\x00=\xff\n#\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		settings, refused := hostapd.ParseConfig(text, "wlan0")
		for _, queue := range slices.Concat(settings.Own.Queues(), settings.Stations.Queues()) {
			isZero := queue.CWMin == 0 // Stations may have a window of 0: nobody sets it here.
			if !isZero && !edca.IsCW(int(queue.CWMin)) || queue.CWMin > queue.CWMax {
				t.Fatalf("%v", queue)
			}
		}
		for _, queue := range settings.Own.Queues() {
			if queue.CWMin == 0 {
				t.Fatalf("own %v", queue)
			}
		}
		for _, err := range refused {
			if !errors.Is(err, hostapd.ErrMalformed) || len(err.Error()) > 400 {
				t.Fatalf("%v", err)
			}
		}
		if again, _ := hostapd.ParseConfig(text, "wlan0"); again != settings {
			t.Fatalf("%+v, then %+v", settings, again)
		}
	})
}
