// SPDX-License-Identifier: Apache-2.0

package hostapd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
)

// configFile is hostapd's configuration on a disk.
type configFile struct {
	t       *testing.T
	path    string
	file    *hostapd.ConfigFile
	refused []string
	written int
}

func newConfigFile(t *testing.T) *configFile {
	t.Helper()
	f := &configFile{t: t, path: filepath.Join(t.TempDir(), "hostapd.conf")}
	f.file = hostapd.NewConfigFile([]string{f.path}, "wlan0", func(err error) {
		f.refused = append(f.refused, err.Error())
	})
	return f
}

// write replaces the file, at a time of its own.
func (f *configFile) write(text string) {
	f.t.Helper()
	f.written++
	at := time.Unix(int64(1_000_000+f.written), 0)
	if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Chtimes(f.path, at, at); err != nil {
		f.t.Fatal(err)
	}
}

func (f *configFile) aifsn() uint8 {
	f.t.Helper()
	settings := f.file.Read()
	if settings == nil {
		f.t.Fatalf("not read: %v", f.refused)
	}
	return settings.Own[edca.BestEffort].AIFSN
}

func TestAConfigurationIsReadAgainWhenItChanged(t *testing.T) {
	f := newConfigFile(t)
	f.write("interface=wlan0\ntx_queue_data2_aifs=4\n")
	if got := f.aifsn(); got != 4 {
		t.Errorf("got %d", got)
	}
	f.write("interface=wlan0\ntx_queue_data2_aifs=5\n")
	if got := f.aifsn(); got != 5 || len(f.refused) > 0 {
		t.Errorf("got %d, refused %v", got, f.refused)
	}
}

func TestALineIsRefusedOnceForEachVersionOfTheFile(t *testing.T) {
	f := newConfigFile(t)
	f.write("interface=wlan0\ntx_queue_data2_aifs=x\n")
	for range 3 {
		if got := f.aifsn(); got != 3 {
			t.Errorf("got %d", got)
		}
	}
	if len(f.refused) != 1 || !strings.HasPrefix(f.refused[0], f.path+": line 2: ") {
		t.Errorf("%v", f.refused)
	}
}

func TestWhileAConfigurationCannotBeReadTheLastIsValid(t *testing.T) {
	f := newConfigFile(t)
	for range 3 {
		if got := f.file.Read(); got != nil {
			t.Errorf("%+v", got)
		}
	}
	if len(f.refused) != 1 || !strings.Contains(f.refused[0], "no such file") {
		t.Errorf("%v", f.refused)
	}
	f.write("interface=wlan0\ntx_queue_data2_aifs=4\n")
	if got := f.aifsn(); got != 4 {
		t.Errorf("got %d", got)
	}
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := f.aifsn(); got != 4 {
			t.Errorf("got %d", got)
		}
	}
	f.write("interface=wlan0\n" + strings.Repeat("#", 1<<20))
	if got := f.aifsn(); got != 4 {
		t.Errorf("got %d", got)
	}
	if len(f.refused) != 3 || !strings.Contains(f.refused[2], "more than 1048576 bytes") {
		t.Errorf("%v", f.refused)
	}
	f.write("interface=wlan0\n")
	if got := f.aifsn(); got != 3 {
		t.Errorf("got %d", got)
	}
}

func TestADirectoryIsNoConfiguration(t *testing.T) {
	f := newConfigFile(t)
	if err := os.Mkdir(f.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := f.file.Read(); got != nil || len(f.refused) != 1 || !strings.Contains(f.refused[0], "is a directory") {
		t.Errorf("%+v, %v", got, f.refused)
	}
}
