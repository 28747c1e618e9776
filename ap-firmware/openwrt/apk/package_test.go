// SPDX-License-Identifier: Apache-2.0

package apk_test

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/openwrt/apk"
)

// example has every kind of value: texts of more than 255 bytes, times of more than 28 bits, an empty file, a script
// that is there twice.
func example() apk.Package {
	const script = "#!/bin/sh\necho hi\n"
	return apk.Package{
		Info: apk.Info{
			Name: "example", Version: "1.2.3-r4", Description: "An example", Arch: "mips_24kc", License: "Apache-2.0",
			Origin: "some/where", Maintainer: "Some One <one@example.org>", URL: "https://example.org/",
		},
		Scripts: map[apk.Script]string{
			apk.PostInstall: script, apk.PostUpgrade: script,
			apk.PreDeinstall: "#!/bin/sh\n" + strings.Repeat("# 0123456789\n", 30) + "\n",
		},
		Files: []apk.File{
			{Path: "usr/sbin/p", Mode: 0o755, Content: []byte(strings.Repeat("0123456789", 40) + "\n")},
			{Path: "top", Mode: 0o644, Content: []byte("top\n")},
			{Path: "etc/empty", Mode: 0o644},
			{Path: "etc/config/x", Mode: 0o600, Content: []byte("config x\n")},
		},
		TimeS: 1700000000,
	}
}

// withDepends has every operator, and names in an order that is not theirs.
func withDepends() apk.Package {
	depending := example()
	depending.Info.Depends = strings.Fields("luci-base airbound-ap>=0.1.0-r1 rpcd-mod-iwinfo !other older<2 " +
		"exact=1.2.3-r4 same~1.2 !worse>3_rc1 last<=4 most>5")
	return depending
}

func decompress(t *testing.T, encoded []byte) []byte {
	t.Helper()
	rest, found := bytes.CutPrefix(encoded, []byte("ADBd"))
	if !found {
		t.Fatalf("begins with %q", encoded[:4])
	}
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(rest)))
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// The files are what `apk mkpkg --compression none` of apk-tools 3.0.6 made of the same content.
func TestThePackageIsTheOneOfApkMkpkg(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]apk.Package{
		"mkpkg-3.0.6.adb": example(), "mkpkg-3.0.6-depends.adb": withDepends(),
	} {
		want, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := made.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got := decompress(t, encoded); !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want %d:\n%q\n%q", name, len(got), len(want), got, want)
		}
	}
}

func TestTheOrderOfTheFilesDoesNotMatter(t *testing.T) {
	t.Parallel()
	first, other := example(), example()
	slices.Reverse(other.Files)
	a, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := other.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("another order, other bytes")
	}
}

func TestWhatApkWouldRefuseIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*apk.Package){
		"no name":          func(p *apk.Package) { p.Info.Name = "" },
		"name":             func(p *apk.Package) { p.Info.Name = "a b" },
		"version":          func(p *apk.Package) { p.Info.Version = "1.2.3-4" },
		"version of git":   func(p *apk.Package) { p.Info.Version = "0.1.0-g0123456" },
		"no architecture":  func(p *apk.Package) { p.Info.Arch = "" },
		"absolute path":    func(p *apk.Package) { p.Files[0].Path = "/etc/x" },
		"path that leaves": func(p *apk.Package) { p.Files[0].Path = "../x" },
		"path twice":       func(p *apk.Package) { p.Files[0].Path = p.Files[1].Path },
		"no path":          func(p *apk.Package) { p.Files[0].Path = "" },
		"mode":             func(p *apk.Package) { p.Files[0].Mode = 0o100644 },
		"dependency":       func(p *apk.Package) { p.Info.Depends = []string{"a b"} },
		"its name":         func(p *apk.Package) { p.Info.Depends = []string{">=1"} },
		"its operator":     func(p *apk.Package) { p.Info.Depends = []string{"a<>1"} },
		"its version":      func(p *apk.Package) { p.Info.Depends = []string{"a>=1-2"} },
		"no version":       func(p *apk.Package) { p.Info.Depends = []string{"a="} },
		"dependency twice": func(p *apk.Package) { p.Info.Depends = []string{"a>=1", "!a>=2"} },
		"script":           func(p *apk.Package) { p.Scripts[apk.PostUpgrade+1] = "x" },
	} {
		changed := example()
		change(&changed)
		if _, err := changed.Encode(); !errors.Is(err, apk.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzPackage(f *testing.F) {
	f.Add("name", "1.0-r1", "a/b", uint32(0o644), []byte("content"), uint64(1), "script")
	f.Add("x", "1", "b", uint32(0), []byte{}, uint64(1)<<40, "")
	f.Fuzz(func(t *testing.T, name, version, path string, mode uint32, content []byte, timeS uint64, script string) {
		encoded, err := apk.Package{
			Info:    apk.Info{Name: name, Version: version, Arch: "all"},
			Scripts: map[apk.Script]string{apk.PostInstall: script},
			Files:   []apk.File{{Path: path, Mode: mode, Content: content}}, TimeS: timeS,
		}.Encode()
		if err != nil {
			if !errors.Is(err, apk.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		plain := decompress(t, encoded)
		if len(plain)%8 != 0 || !bytes.Contains(plain, content) || !bytes.Contains(plain, []byte(script)) {
			t.Errorf("%d bytes, without the content or the script", len(plain))
		}
	})
}
