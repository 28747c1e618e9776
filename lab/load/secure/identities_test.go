// SPDX-License-Identifier: Apache-2.0

package secure_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
	"github.com/airbound/airbound/lab/load/secure"
	"github.com/airbound/airbound/lab/load/secure/securetest"
)

func TestIdentitiesAreThoseOfTheNumbers(t *testing.T) {
	directory := securetest.Directory(t, credentialstest.NewAuthority(t, "authority"), 3, 6, time.Hour)
	found, err := secure.Load(directory, 1, 2, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.AccessPoints) != 2 || len(found.Terminals) != 4 {
		t.Fatalf("%d access points, %d terminals", len(found.AccessPoints), len(found.Terminals))
	}
	last, err := identity.Of(found.Terminals[3].Leaf)
	if err != nil || last.Role != "terminal" || last.Name != "load-5" {
		t.Errorf("the last terminal is %v, error %v", last, err)
	}
}

func TestIdentitiesThatAreMissingOrEndedAreNamed(t *testing.T) {
	authority := credentialstest.NewAuthority(t, "authority")
	directory := securetest.Directory(t, authority, 2, 4, time.Hour)
	if _, err := secure.Load(directory, 0, 2, 1, 4); !errors.Is(err, secure.ErrTooFew) ||
		!strings.Contains(err.Error(), "terminals.pem has 4, 5 are needed") {
		t.Errorf("one too few: %v", err)
	}
	if _, err := secure.Load(t.TempDir(), 0, 1, 0, 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	ended := securetest.Directory(t, authority, 1, 1, -time.Minute)
	if _, err := secure.Load(ended, 0, 1, 0, 1); err == nil || !strings.Contains(err.Error(), "it ended on") {
		t.Errorf("ended: %v", err)
	}
	garbage := filepath.Join(directory, "access-points.pem")
	text, err := os.ReadFile(garbage)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(garbage, text[1:], 0o600); err != nil { // the first key is lost: a certificate comes first
		t.Fatal(err)
	}
	if _, err := secure.Load(directory, 0, 1, 0, 1); err == nil || !strings.Contains(err.Error(), "certificate 0 of") {
		t.Errorf("no key: %v", err)
	}
}
