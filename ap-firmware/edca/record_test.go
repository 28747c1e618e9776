// SPDX-License-Identifier: Apache-2.0

package edca_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/edca"
)

const record = `{"schema":1,"agent":"x","interface":"wlan0","own":[{"category":"best effort","aifsn":3,"cw_min":15,` +
	`"cw_max":63,"txop_limit":0}],"lease_ends_monotonic_us":7}`

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	want := edca.Record{
		Schema: edca.RecordSchema, Agent: "x", Interface: "wlan0", DeadlineUS: 7,
		Own: []edca.Queue{{Category: edca.BestEffort, Parameters: edca.Parameters{AIFSN: 3, CWMin: 15, CWMax: 63}}},
	}
	text, err := json.Marshal(want)
	if err != nil || string(text) != record {
		t.Errorf("%s, %v", text, err)
	}
	if got, err := edca.ParseRecord([]byte(record)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestARecordOfWhatIsAnnounced(t *testing.T) {
	t.Parallel()
	const text = `{"schema":1,"agent":"x","interface":"wlan0","own":null,"own_stations":[{"category":"best effort",` +
		`"aifsn":3,"cw_min":0,"cw_max":1023,"txop_limit":0}],"lease_ends_monotonic_us":7}`
	got, err := edca.ParseRecord([]byte(text))
	if err != nil || len(got.Own) != 0 || len(got.OwnStations) != 1 || got.OwnStations[0].CWMax != 1023 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, spoiled := range []string{
		strings.Replace(text, "1023", "1022", 1), strings.Replace(text, `"cw_min":0`, `"cw_min":2047`, 1),
	} {
		got, err := edca.ParseRecord([]byte(spoiled))
		if err == nil || !strings.Contains(err.Error(), "is no queue's") {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestARecordThatIsNone(t *testing.T) {
	t.Parallel()
	replaced := func(old, with string) string { return strings.Replace(record, old, with, 1) }
	for text, want := range map[string]string{
		"":                                 "unexpected end",
		record[:40]:                        "unexpected end",
		"{}":                               "its schema is 0",
		`{"schema":2}`:                     "its schema is 2, this program reads 1",
		`{"schema":1,"own":[]}`:            "no interface",
		`{"schema":1,"interface":"wlan0"}`: "no queue",
		replaced("best effort", "x"):       "neither background, best effort, video nor",
		replaced("15", "0"):                "CW 0 to 63, TXOP limit 0 is no queue's",
		replaced("63", "62"):               "is no queue's",
		replaced("63", "7"):                "is no queue's",
		replaced(":3", ":300"):             "cannot unmarshal number 300",
		replaced(`[{`, `[{"category":"best effort","cw_min":1,"cw_max":1},{`): "best effort is there twice",
	} {
		if got, err := edca.ParseRecord([]byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "parse the record of own values: ") {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// FuzzParseRecord: whatever is in the file, what is written back is a kernel's.
func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(record))
	f.Add([]byte(`{"schema":1,"interface":"w","own":[{"category":"voice","cw_min":1,"cw_max":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := edca.ParseRecord(text)
		if err != nil {
			return
		}
		if len(got.Own)+len(got.OwnStations) == 0 || len(got.Own) > 4 || len(got.OwnStations) > 4 ||
			got.Interface == "" {
			t.Fatalf("%+v", got)
		}
		for _, queue := range got.Own {
			if queue.CWMin == 0 || queue.CWMin > queue.CWMax || queue.Category < 0 || queue.Category > edca.Voice {
				t.Fatalf("%v", queue)
			}
		}
	})
}
