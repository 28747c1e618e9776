// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWhatIsMissingIsNamed(t *testing.T) {
	for line, want := range map[string]string{
		"":                        "--key DIR is missing",
		"--make-key":              "--key DIR is missing",
		"--key k":                 "give one of --make-key, --packages DIR with --output DIR, and --sign FILE",
		"--key k --packages p":    "--output DIR is missing",
		"--key k --output o":      "--packages DIR is missing",
		"--key k --sign f more":   `unexpected argument "more"`,
		"--key k --make-key=true": "",
		"--key k --sign f":        "",
		"--key k --sign f --packages p --output o": "give one of",
		"--key k --packages p --output o":          "",
		"--key":                                    "read the flags",
	} {
		_, err := parse(strings.Fields(line))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// files lists those below a folder, sorted.
func files(t *testing.T, folder string) (found []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

func succeeds(t *testing.T, arguments ...string) {
	t.Helper()
	if err := run(arguments); err != nil {
		t.Fatalf("%q: %v", arguments, err)
	}
}

func TestKeysAreMadeOnceAndBoth(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "keys/apk.key", "mine")
	err := run([]string{"--key", "keys", "--make-key"})
	if err == nil || !strings.Contains(err.Error(), "file exists") {
		t.Error(err)
	}
	if found := files(t, "keys"); !slices.Equal(found, []string{"apk.key"}) {
		t.Errorf("%q", found)
	}
	succeeds(t, "--key", "new", "--make-key")
	if found := files(t, "new"); !slices.Equal(found, []string{"apk.key", "usign.key"}) {
		t.Errorf("%q", found)
	}
}

// A feed is made whole: a package that is none, in the last folder, leaves the feed of before as it was.
func TestAFeedIsMadeWholeOrNotAtAll(t *testing.T) {
	t.Chdir(t.TempDir())
	succeeds(t, "--key", "keys", "--make-key")
	for _, folder := range []string{"all", "mips_24kc", "x86_64"} {
		if err := os.MkdirAll(filepath.Join("packages", folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	feed := []string{"--key", "keys", "--packages", "packages", "--output", "public/feed"}
	succeeds(t, feed...)
	found := files(t, "public/feed")
	if len(found) != 2*4+2 || !slices.Contains(found, "x86_64/packages.adb") ||
		!slices.Contains(found, "keys/airbound.pem") {
		t.Errorf("%q", found)
	}
	write(t, "public/feed/mips_24kc/Packages", "of before")
	write(t, "packages/x86_64/none.ipk", "none")
	if err := run(feed); err == nil || !strings.Contains(err.Error(), "x86_64: list none.ipk") {
		t.Error(err)
	}
	if text, err := os.ReadFile("public/feed/mips_24kc/Packages"); err != nil || string(text) != "of before" {
		t.Errorf("%v: %q", err, text)
	}
	feed[len(feed)-1] = "another"
	if err := run(feed); err == nil {
		t.Error("made of a package that is none")
	}
	if _, err := os.Stat("another"); !os.IsNotExist(err) {
		t.Error(err)
	}
	// Nothing is left where a file cannot be put.
	if err := os.Remove("packages/x86_64/none.ipk"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("another/x86_64/packages.adb", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := run(feed); err == nil || !strings.Contains(err.Error(), "into its place") {
		t.Error(err)
	}
	for _, path := range files(t, "another") {
		if strings.HasSuffix(path, ".new") {
			t.Error(path)
		}
	}
}

func TestAFileIsSignedBesideIt(t *testing.T) {
	t.Chdir(t.TempDir())
	succeeds(t, "--key", "keys", "--make-key")
	write(t, "sums", "of files\n")
	succeeds(t, "--key", "keys", "--sign", "sums")
	if text, err := os.ReadFile("sums.sig"); err != nil || !strings.HasPrefix(string(text), "untrusted comment: ") {
		t.Errorf("%v: %q", err, text)
	}
	if err := run([]string{"--key", "keys", "--sign", "none"}); err == nil ||
		!strings.HasPrefix(err.Error(), "read the file to sign: ") {
		t.Error(err)
	}
}
