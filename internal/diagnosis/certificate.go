// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/identity"
)

const certificatePart = "certificate"

// Enrolment is how the device gets its certificate.
type Enrolment struct {
	Device

	PlainText        bool
	Directory        string
	Token, TokenFile string
}

// Certificate looks at the certificate, or at the token if there is none. The leaf is nil without a certificate, device
// without one that can be used.
func Certificate(e Enrolment, now time.Time) (findings []Finding, leaf *x509.Certificate, device *credentials.Device) {
	if e.PlainText {
		return []Finding{Warn(certificatePart, "remove plain-text outside of a lab",
			"none: connections are plain text, anybody on the way can change what this device does")}, nil, nil
	}
	leaf = readLeaf(filepath.Join(e.Directory, "certificate.pem"))
	device, err := credentials.Open(credentials.Config{
		Directory: e.Directory, Role: e.Role, LookOnly: true, Logger: slog.New(slog.DiscardHandler),
	})
	switch {
	case errors.Is(err, credentials.ErrNotEnrolled):
		return []Finding{e.token()}, nil, nil
	case err != nil:
		// The advice of the error is for the agent's start.
		text, _, _ := strings.Cut(err.Error(), "; enrol it:")
		return []Finding{Fail(certificatePart, "correct what the error names, or remove "+e.Directory+
			" and enrol again: "+e.enrolAgain(), "%s", text)}, leaf, nil
	}
	until := leaf.NotAfter.UTC().Format(timeFormat)
	if now.After(leaf.NotAfter) {
		findings = append(findings, Fail(certificatePart,
			"set the clock if it is wrong, else enrol again: "+e.enrolAgain(), "%s, ended %s", name(leaf), until))
	} else {
		findings = append(findings, Good(certificatePart, "%s, until %s", name(leaf), until))
	}
	if e.Token != "" || exists(e.TokenFile) {
		findings = append(findings, Warn(certificatePart, "remove the token from the configuration",
			"the device is enrolled, the token is not needed any more"))
	}
	return findings, leaf, device
}

// token looks at the token of a device that is not enrolled.
func (e Enrolment) token() Finding {
	text := e.Token
	if e.TokenFile != "" {
		line, err := credentials.ReadTokenFile(e.TokenFile)
		if err != nil {
			return Fail(certificatePart, e.enrolAgain(), "none, and no token: %v", err)
		}
		text = line
	}
	if text == "" {
		return Fail(certificatePart, e.enrolAgain(), "none, and no token to get one")
	}
	if _, err := identity.ParseToken(text); err != nil {
		return Fail(certificatePart, e.enrolAgain(), "none, and %v", err)
	}
	return Good(certificatePart, "none yet, but a token: the agent enrols when it starts")
}

// ParsedToken returns the token, if there is one that can be read.
func (e Enrolment) ParsedToken() (identity.Token, bool) {
	text := e.Token
	if line, err := credentials.ReadTokenFile(e.TokenFile); err == nil {
		text = line
	}
	token, err := identity.ParseToken(text)
	return token, err == nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return path != "" && !errors.Is(err, fs.ErrNotExist)
}

func name(leaf *x509.Certificate) string {
	id, err := identity.Of(leaf)
	if err != nil {
		return err.Error()
	}
	return id.String()
}

func readLeaf(path string) *x509.Certificate {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return leaf
}
