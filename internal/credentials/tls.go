// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync"

	"github.com/airbound/airbound/internal/identity"
)

// TLS is the configuration of connections to controllers, for an enrolled device. Each handshake presents the
// certificate of that moment. A controller is verified by its authority and its URI. Its address does not count.
func (d *Device) TLS() *tls.Config {
	config := tlsVerifiedBy(d.verifyController)
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return d.current().tls, nil
	}
	return config
}

// tlsVerifiedBy switches crypto/tls's own verification off, which wants a host name.
func tlsVerifiedBy(verify func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, VerifyConnection: verify, //nolint:gosec // see above
	}
}

var errNoCertificate = errors.New("the server sent no certificate")

func (d *Device) verifyController(connection tls.ConnectionState) error {
	err := errNoCertificate
	if sent := connection.PeerCertificates; len(sent) > 0 {
		current := d.current()
		_, err = identity.VerifyController(sent[0], current.authorities, current.id.TrustDomain, d.clock.now())
		if err == nil {
			d.clock.prove(sent[0].NotBefore)
		}
	}
	d.record(verifying, withCode(identity.ControllerNotVerified, err))
	return err
}

// pin verifies the server of an enrolment: the authority that the token names certified it as a controller.
type pin struct {
	token identity.Token
	clock *clock

	mutex sync.Mutex
	// The authority, and the controller's trust domain.
	authority   *x509.Certificate
	trustDomain string
	// Why the last server was not verified.
	err error
}

func (p *pin) verify(connection tls.ConnectionState) error {
	err := p.check(connection)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.err = err
	return err
}

func (p *pin) check(connection tls.ConnectionState) error {
	sent := connection.PeerCertificates
	if len(sent) == 0 {
		return errNoCertificate
	}
	authority, err := p.token.FindAuthority(sent)
	if err != nil {
		return withCode(identity.ControllerNotInToken, err)
	}
	id, err := identity.VerifyController(sent[0], []*x509.Certificate{authority}, "", p.clock.now())
	if err != nil {
		return withCode(identity.ControllerNotVerified, err)
	}
	p.clock.prove(sent[0].NotBefore)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.authority, p.trustDomain = authority, id.TrustDomain
	return nil
}

func (p *pin) verified() (authority *x509.Certificate, trustDomain string, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.authority, p.trustDomain, p.err
}
