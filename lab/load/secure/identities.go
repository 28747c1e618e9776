// SPDX-License-Identifier: Apache-2.0

package secure

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/net/http2"

	"github.com/airbound/airbound/internal/identity"
)

// Names in the directory that `airbound-lab certificates` fills.
const (
	// AuthorityDirectory is what a controller has as [tls] directory.
	AuthorityDirectory = "authority"

	authoritiesFile  = "authorities.pem"
	accessPointsFile = "access-points.pem"
	terminalsFile    = "terminals.pem"
	operatorFolder   = "operator"
)

// Identities are the keys and certificates of all agents. Agents are counted from 0 over all generators.
type Identities struct {
	FirstAccessPoint, FirstTerminal int
	AccessPoints, Terminals         []tls.Certificate
	Operator                        tls.Certificate

	authorities []*x509.Certificate
	trustDomain string
}

// ErrTooFew is a directory with fewer identities than there are agents.
var ErrTooFew = errors.New("too few certificates")

// Load reads the identities of terminals and access points by their numbers.
func Load(directory string, firstAccessPoint, accessPoints, firstTerminal, terminals int) (*Identities, error) {
	i := &Identities{FirstAccessPoint: firstAccessPoint, FirstTerminal: firstTerminal}
	text, err := os.ReadFile(filepath.Join(directory, authoritiesFile))
	if err != nil {
		return nil, fmt.Errorf("read authorities: %w", err)
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", authoritiesFile, err)
		}
		i.authorities = append(i.authorities, certificate)
	}
	if len(i.authorities) == 0 {
		return nil, fmt.Errorf("%s has no certificate", authoritiesFile)
	}
	if i.AccessPoints, err = load(directory, accessPointsFile, firstAccessPoint, accessPoints); err != nil {
		return nil, err
	}
	if i.Terminals, err = load(directory, terminalsFile, firstTerminal, terminals); err != nil {
		return nil, err
	}
	operator := filepath.Join(directory, operatorFolder)
	i.Operator, err = tls.LoadX509KeyPair(
		filepath.Join(operator, "certificate.pem"), filepath.Join(operator, "key.pem"))
	if err != nil {
		return nil, fmt.Errorf("read the operator's certificate: %w", err)
	}
	id, err := identity.Of(i.Operator.Leaf)
	if err != nil {
		return nil, fmt.Errorf("the operator's certificate: %w", err)
	}
	i.trustDomain = id.TrustDomain
	return i, nil
}

// load reads pairs of a key and its certificate.
func load(directory, name string, first, count int) ([]tls.Certificate, error) {
	rest, err := os.ReadFile(filepath.Join(directory, name))
	if err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	found := make([]tls.Certificate, 0, count)
	for number := 0; len(found) < count; number++ {
		var key, certificate *pem.Block
		if key, rest = pem.Decode(rest); key != nil {
			certificate, rest = pem.Decode(rest)
		}
		if certificate == nil {
			return nil, fmt.Errorf("%w: %s has %d, %d are needed", ErrTooFew, filepath.Join(directory, name), number,
				first+count)
		}
		if number < first {
			continue
		}
		pair, err := pairOf(key.Bytes, certificate.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d of %s: %w", number, name, err)
		}
		found = append(found, pair)
	}
	return found, nil
}

func pairOf(key, certificate []byte) (tls.Certificate, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("parse its key: %w", err)
	}
	leaf, err := x509.ParseCertificate(certificate)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("parse it: %w", err)
	}
	if time.Now().After(leaf.NotAfter) {
		return tls.Certificate{}, fmt.Errorf("it ended on %v", leaf.NotAfter)
	}
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: parsed, Leaf: leaf}, nil
}

// Client is what a client with this certificate connects with. It verifies controllers as real agents do.
func (i *Identities) Client(certificate *tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{http2.NextProtoTLS},
		Certificates:       []tls.Certificate{*certificate},
		InsecureSkipVerify: true, //nolint:gosec // it wants a host name; VerifyConnection verifies
		VerifyConnection:   i.verify,
	}
}

func (i *Identities) verify(connection tls.ConnectionState) error {
	if len(connection.PeerCertificates) == 0 {
		return errors.New("the server sent no certificate")
	}
	_, err := identity.VerifyController(connection.PeerCertificates[0], i.authorities, i.trustDomain, time.Now())
	return err
}
