// SPDX-License-Identifier: Apache-2.0

package apk_test

import (
	"bytes"
	"compress/flate"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/airbound/airbound/ap-firmware/openwrt/apk"
)

// keyOf makes a key of a number, so that signatures are the same in each run.
func keyOf(tb testing.TB, number byte) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), append(make([]byte, 31), number))
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// stored is a package of the test's data as a file: its size, which is in the index, must not follow from a compressor.
func stored(tb testing.TB, name string) []byte {
	tb.Helper()
	plain, err := os.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	return storedBytes(tb, plain)
}

func storedBytes(tb testing.TB, plain []byte) []byte {
	tb.Helper()
	out := bytes.NewBufferString("ADBd")
	writer, err := flate.NewWriter(out, flate.NoCompression)
	if err == nil {
		_, err = writer.Write(plain)
	}
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// split returns the database of an index and its signature block's content.
func split(t *testing.T, plain []byte) (database, signature []byte) {
	t.Helper()
	rest, found := bytes.CutPrefix(plain, []byte("ADB.indx"))
	if !found {
		t.Fatalf("begins with %q", plain[:8])
	}
	var blocks [][]byte
	for len(rest) > 0 {
		word := binary.LittleEndian.Uint32(rest)
		length := int(word & (1<<30 - 1))
		if kind := int(word >> 30); kind != len(blocks) {
			t.Fatalf("block %d is of type %d", len(blocks), kind)
		}
		blocks = append(blocks, rest[4:length])
		rest = rest[(length+7)/8*8:]
	}
	if len(blocks) != 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	return blocks[0], blocks[1]
}

// The files are what `apk mkndx --compression none` of apk-tools 3.0.6 made of what stored returns.
func TestTheIndexIsTheOneOfApkMkndx(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]string{
		"mkndx-3.0.6.adb": "mkpkg-3.0.6.adb", "mkndx-3.0.6-depends.adb": "mkpkg-3.0.6-depends.adb",
	} {
		want, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := apk.Index([][]byte{stored(t, from)}, keyOf(t, 1))
		if err != nil {
			t.Fatal(err)
		}
		if got := decompress(t, encoded); !bytes.HasPrefix(got, want) {
			t.Errorf("%s:\n%q\n%q", name, got, want)
		}
	}
}

// verifies is what adb_trust_verify_signature of apk-tools does.
func verifies(database, signature []byte, key *ecdsa.PublicKey) bool {
	const header = 18
	public, err := key.Bytes()
	if err != nil || len(signature) < header || !bytes.Equal(signature[:2], []byte{0, 4}) {
		return false
	}
	id, sum := sha512.Sum512(public), sha512.Sum512(database)
	digest := sha512.Sum512(slices.Concat([]byte("indx"), signature[:header], sum[:]))
	return bytes.Equal(signature[2:header], id[:16]) && ecdsa.VerifyASN1(key, digest[:], signature[header:])
}

func TestOneKeySignsAndEachChangeIsSeen(t *testing.T) {
	t.Parallel()
	key := keyOf(t, 1)
	packages := [][]byte{stored(t, "mkpkg-3.0.6.adb")}
	encoded, err := apk.Index(packages, key)
	if err != nil {
		t.Fatal(err)
	}
	again, err := apk.Index(packages, key)
	if err != nil || !bytes.Equal(encoded, again) {
		t.Errorf("%v, other bytes", err)
	}
	database, signature := split(t, decompress(t, encoded))
	if !verifies(database, signature, &key.PublicKey) {
		t.Error("the signature is none")
	}
	if verifies(database, signature, &keyOf(t, 2).PublicKey) {
		t.Error("it is of any key")
	}
	for at := range database {
		changed := bytes.Clone(database)
		changed[at] ^= 1
		if verifies(changed, signature, &key.PublicKey) {
			t.Errorf("byte %d does not count", at)
		}
	}
}

func named(tb testing.TB, name string) []byte {
	tb.Helper()
	made := example()
	made.Info.Name = name
	encoded, err := made.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	return encoded
}

func TestPackagesAreByTheirNamesAndOnceEach(t *testing.T) {
	t.Parallel()
	first, second := named(t, "first-name"), named(t, "second-name")
	one, err := apk.Index([][]byte{first, second}, keyOf(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	plain := decompress(t, one)
	if !bytes.Contains(plain, []byte("first-name")) || !bytes.Contains(plain, []byte("second-name")) {
		t.Error("a name is missing")
	}
	if _, err := apk.Index([][]byte{first, first}, keyOf(t, 1)); !errors.Is(err, apk.ErrInvalid) {
		t.Errorf("twice: %v", err)
	}
}

func TestWhatIsNoPackageIsRefused(t *testing.T) {
	t.Parallel()
	whole := stored(t, "mkpkg-3.0.6.adb")
	plain := decompress(t, whole)
	for name, content := range map[string][]byte{
		"nothing": nil, "another format": []byte("PK\x03\x04"), "cut off": whole[:len(whole)/2],
		"an index":    storedBytes(t, bytes.Replace(plain, []byte("pckg"), []byte("indx"), 1)),
		"no database": storedBytes(t, []byte("ADB.pckg\x04\x00\x00\x00")),
		"a block that is longer than the file": storedBytes(t, append([]byte("ADB.pckg"),
			append(binary.LittleEndian.AppendUint32(nil, 1<<20), plain[12:]...)...)),
	} {
		if _, err := apk.Index([][]byte{content}, keyOf(t, 1)); !errors.Is(err, apk.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzIndex: a database of somebody else ends neither the program nor the memory.
func FuzzIndex(f *testing.F) {
	for _, name := range []string{"mkpkg-3.0.6.adb", "mkpkg-3.0.6-depends.adb"} {
		plain, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(plain)
	}
	key := keyOf(f, 1)
	f.Fuzz(func(t *testing.T, plain []byte) {
		if _, err := apk.Index([][]byte{storedBytes(t, plain)}, key); err != nil &&
			!errors.Is(err, apk.ErrMalformed) && !errors.Is(err, apk.ErrInvalid) {
			t.Fatal(err)
		}
	})
}
