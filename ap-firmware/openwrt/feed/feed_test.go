// SPDX-License-Identifier: Apache-2.0

package feed_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/openwrt/apk"
	"github.com/airbound/airbound/ap-firmware/openwrt/feed"
)

const control = "Package: airbound-ap\nVersion: 1-r1\nArchitecture: mips_24kc\nDescription: An agent\n of more lines\n"

func usignKey(number byte) feed.UsignKey {
	var random [40]byte
	for at := range random {
		random[at] = number + byte(at)
	}
	return feed.NewUsignKey(random)
}

func keysOf(tb testing.TB, number byte) feed.Keys {
	tb.Helper()
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), append(make([]byte, 31), number))
	if err != nil {
		tb.Fatal(err)
	}
	return feed.Keys{Usign: usignKey(number), Apk: key}
}

func packed(tb testing.TB, name string, content []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	compressor := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressor)
	err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))})
	if err == nil {
		_, err = archive.Write(content)
	}
	if err := errors.Join(err, archive.Close(), compressor.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func ipk(tb testing.TB, control string) []byte {
	tb.Helper()
	return packed(tb, "./control.tar.gz", packed(tb, "./control", []byte(control)))
}

func anApk(tb testing.TB) []byte {
	tb.Helper()
	encoded, err := apk.Package{Info: apk.Info{Name: "airbound-ap", Version: "1-r1", Arch: "mips_24kc"}}.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	return encoded
}

// decoded is what is in a file of usign's: a comment, and base64.
func decoded(tb testing.TB, file []byte) []byte {
	tb.Helper()
	comment, encoded, _ := strings.Cut(string(file), "\n")
	content, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, "\n"))
	if err != nil || !strings.HasPrefix(comment, "untrusted comment: ") {
		tb.Fatalf("%v, %q", err, file)
	}
	return content
}

// verifies is what `usign -V -P` does: it finds the public key by the fingerprint, and verifies by it.
func verifies(tb testing.TB, message, signature, public []byte) bool {
	tb.Helper()
	sig, key := decoded(tb, signature), decoded(tb, public)
	return len(sig) == 74 && len(key) == 42 && string(sig[:2]) == "Ed" && bytes.Equal(sig[:10], key[:10]) &&
		ed25519.Verify(key[10:], message, sig[10:])
}

func TestASignatureIsOfItsKeyAndItsMessage(t *testing.T) {
	t.Parallel()
	key, other := usignKey(1), usignKey(2)
	signature := key.Sign([]byte("message"))
	if !verifies(t, []byte("message"), signature, key.Public()) {
		t.Error("the signature is none")
	}
	if verifies(t, []byte("massage"), signature, key.Public()) ||
		verifies(t, []byte("message"), signature, other.Public()) {
		t.Error("it is of anything")
	}
	if key.Fingerprint() != "0102030405060708" {
		t.Error(key.Fingerprint())
	}
}

// The files are of `usign -G` and `usign -S` (commit c4c72b1b0794).
func TestAKeyOfUsignSignsAsUsignDoes(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{}
	for _, name := range []string{"usign.sec", "usign.pub", "message.sig"} {
		content, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = content
	}
	key, err := feed.ParseUsignKey(files["usign.sec"])
	if err != nil {
		t.Fatal(err)
	}
	if got := key.Sign([]byte("a message\n")); !bytes.Equal(got, files["message.sig"]) {
		t.Errorf("%q, want %q", got, files["message.sig"])
	}
	if got := key.Public(); !bytes.Equal(got, files["usign.pub"]) {
		t.Errorf("%q, want %q", got, files["usign.pub"])
	}
	again, err := feed.ParseUsignKey(key.Secret())
	if err != nil || !bytes.Equal(again.Public(), key.Public()) {
		t.Errorf("%v, another key", err)
	}
}

func TestWhatIsNoSecretKeyIsRefused(t *testing.T) {
	t.Parallel()
	secret := usignKey(1).Secret()
	content := decoded(t, secret)
	change := func(at int) []byte {
		changed := bytes.Clone(content)
		changed[at] ^= 1
		return []byte("untrusted comment: x\n" + base64.StdEncoding.EncodeToString(changed) + "\n")
	}
	for name, text := range map[string][]byte{
		"nothing": nil, "no base64": []byte("untrusted comment: x\n*\n"), "a public key": usignKey(1).Public(),
		"another algorithm": change(0), "a passphrase": change(4), "a checksum": change(24), "a seed": change(40),
	} {
		if _, err := feed.ParseUsignKey(text); !errors.Is(err, feed.ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFeedHasWhatOpkgAndApkAskFor(t *testing.T) {
	t.Parallel()
	keys := keysOf(t, 1)
	packages := map[string][]byte{"airbound-ap_1_mips_24kc.ipk": ipk(t, control), "airbound-ap-1.apk": anApk(t)}
	files, err := feed.Files(packages, keys)
	if err != nil {
		t.Fatal(err)
	}
	content := packages["airbound-ap_1_mips_24kc.ipk"]
	want := fmt.Sprintf("%sFilename: airbound-ap_1_mips_24kc.ipk\nSize: %d\nSHA256sum: %x\n\n", control, len(content),
		sha256.Sum256(content))
	if got := string(files[feed.OpkgIndex]); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	unpacker, err := gzip.NewReader(bytes.NewReader(files["Packages.gz"]))
	if err != nil {
		t.Fatal(err)
	}
	if unpacked, err := io.ReadAll(unpacker); err != nil || string(unpacked) != want {
		t.Errorf("%v, %q", err, unpacked)
	}
	if !verifies(t, files[feed.OpkgIndex], files[feed.OpkgIndexSignature], keys.Usign.Public()) {
		t.Error("the index is not signed")
	}
	index, err := apk.Index([][]byte{packages["airbound-ap-1.apk"]}, keys.Apk)
	if err != nil || !bytes.Equal(files[feed.ApkIndex], index) {
		t.Errorf("%v, another index", err)
	}
	again, err := feed.Files(packages, keys)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if !bytes.Equal(again[name], content) {
			t.Errorf("%s has other bytes each time", name)
		}
	}
}

func TestAFolderWithSomethingElseIsRefused(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{
		"readme.txt": nil, "a.ipk": []byte("x"), "b.ipk": packed(t, "data.tar.gz", nil),
		"c.ipk": ipk(t, "Package: a\n"), "d.ipk": ipk(t, control+"\n"+control),
		"e.ipk": packed(t, "control.tar.gz", nil),
	} {
		if _, err := feed.Files(map[string][]byte{name: content}, keysOf(t, 1)); !errors.Is(err, feed.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := feed.Files(map[string][]byte{"a.apk": []byte("x")}, keysOf(t, 1)); !errors.Is(err, apk.ErrMalformed) {
		t.Error(err)
	}
}

func FuzzParseUsignKey(f *testing.F) {
	f.Add(usignKey(1).Secret())
	f.Add(usignKey(1).Public())
	f.Fuzz(func(t *testing.T, text []byte) {
		key, err := feed.ParseUsignKey(text)
		if err != nil {
			if !errors.Is(err, feed.ErrKey) {
				t.Fatal(err)
			}
			return
		}
		again, err := feed.ParseUsignKey(key.Secret())
		if err != nil || !bytes.Equal(again.Public(), key.Public()) {
			t.Fatalf("%v, another key", err)
		}
	})
}

func FuzzFiles(f *testing.F) {
	f.Add([]byte(control))
	f.Add(packed(f, "control", []byte(control)))
	keys := keysOf(f, 1)
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, file := range [][]byte{content, packed(t, "control.tar.gz", content), ipk(t, string(content))} {
			if _, err := feed.Files(map[string][]byte{"a.ipk": file}, keys); err != nil &&
				!errors.Is(err, feed.ErrMalformed) {
				t.Fatal(err)
			}
		}
	})
}
