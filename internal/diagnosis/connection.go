// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/airbound/airbound/internal/controllerclient"
	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/identity"
)

const connectionPart = "connection"

// connectTimeout is for TCP, handshakeTimeout for TLS and the first answer; a full cell has an RTT of over 2 s.
const (
	connectTimeout   = 5 * time.Second
	handshakeTimeout = 10 * time.Second
)

// preface is that of a client of HTTP/2 (RFC 9113, 3.4), with empty settings.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// Connections connects to each controller, and without a certificate to where it enrols devices. device is nil without
// a certificate.
func Connections(
	ctx context.Context, controllers, enrolmentPorts []string, enrolment Enrolment, device *credentials.Device,
	now time.Time,
) []Finding {
	findings := make([]Finding, 0, len(controllers)+len(enrolmentPorts))
	for _, address := range controllers {
		switch {
		case enrolment.PlainText:
			findings = append(findings, plainController(ctx, address))
		case device == nil:
			findings = append(findings, controller(ctx, address, withoutCertificate()))
		default:
			findings = append(findings, controller(ctx, address, device.TLS()))
		}
	}
	token, hasToken := enrolment.ParsedToken()
	if enrolment.PlainText || device != nil || !hasToken {
		return findings
	}
	for _, address := range enrolmentPorts {
		findings = append(findings, enrolmentPort(ctx, address, token, enrolment.enrolAgain(), now))
	}
	return findings
}

// withoutCertificate is TLS to a controller that is not verified: nothing is sent to it.
func withoutCertificate() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, //nolint:gosec // whether TLS is spoken at all
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return nil, errCertificateWanted
		},
	}
}

// errCertificateWanted ends the handshake of a device that has none.
var errCertificateWanted = errors.New("the controller asks for a certificate")

var errClosed = errors.New("the server closed the connection after the handshake")

const agentsPort = "check the port: agents connect to 50051 unless the operator chose another, and enrol at 50053"

// controller connects to a controller as the agent does. The controller's answer shows whether it accepts the
// certificate; doctor does not ask whether it accepts the agent.
func controller(ctx context.Context, address string, secured *tls.Config) Finding {
	what := "controller " + address
	conn, reached, found := reach(ctx, what, address)
	if conn == nil {
		return found
	}
	defer func() { _ = conn.Close() }()
	asked, err := handshake(ctx, conn, secured)
	switch {
	case errors.Is(err, errCertificateWanted):
		return Good(connectionPart, "%s, TLS", reached)
	case err != nil:
		return Fail(connectionPart, controllerclient.Insecure(err), "%s, but TLS: %v", reached, err)
	case !asked:
		return Fail(connectionPart, agentsPort, "%s, TLS, but it asks for no certificate: not the port of agents",
			reached)
	default:
		return Good(connectionPart, "%s, TLS", reached)
	}
}

// enrolmentPort connects to where the controller enrols devices, and verifies it by the token as the agent does. The
// token is not sent.
func enrolmentPort(
	ctx context.Context, address string, token identity.Token, enrolAgain string, now time.Time,
) Finding {
	what := "enrolment at " + address
	conn, reached, found := reach(ctx, what, address)
	if conn == nil {
		return found
	}
	defer func() { _ = conn.Close() }()
	asked, err := handshake(ctx, conn, &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // it is verified below; crypto/tls wants a host name
		VerifyConnection: func(state tls.ConnectionState) error {
			authority, err := token.FindAuthority(state.PeerCertificates)
			if err != nil {
				return err
			}
			_, err = identity.VerifyController(state.PeerCertificates[0], []*x509.Certificate{authority}, "", now)
			return err
		},
	})
	switch {
	case errors.Is(err, identity.ErrNotPinned):
		return Fail(connectionPart, "check the address, or get a token of this controller: "+enrolAgain,
			"%s, but TLS: %v", reached, err)
	case asked:
		return Fail(connectionPart, agentsPort, "%s, TLS, but it asks for a certificate: not the port of enrolment",
			reached)
	case err != nil:
		return Fail(connectionPart, controllerclient.Insecure(err), "%s, but TLS: %v", reached, err)
	default:
		return Good(connectionPart, "%s, TLS", reached)
	}
}

// plainController connects to a controller as an agent without certificates does.
func plainController(ctx context.Context, address string) Finding {
	what := "controller " + address
	conn, reached, found := reach(ctx, what, address)
	if conn == nil {
		return found
	}
	defer func() { _ = conn.Close() }()
	if err := speaksHTTP2(controllerclient.PlainText(conn)); err != nil {
		return Fail(connectionPart, agentsPort, "%s, but not as a controller in plain text: %v", reached, err)
	}
	return Good(connectionPart, "%s, plain text", reached)
}

// speaksHTTP2 sends the preface and awaits the settings with which a server begins (RFC 9113, 3.4).
func speaksHTTP2(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, preface); err != nil {
		return err
	}
	const headerBytes, typeAt, settings = 9, 3, 4
	header := make([]byte, headerBytes)
	if _, err := io.ReadFull(conn, header); err != nil {
		return err
	}
	if header[typeAt] != settings {
		return fmt.Errorf("it answers %q, which is no HTTP/2", header)
	}
	return nil
}

// reach opens a TCP connection; without one the finding says why. reached says how long that took.
func reach(ctx context.Context, what, address string) (conn net.Conn, reached string, _ Finding) {
	dialer := net.Dialer{Timeout: connectTimeout}
	began := time.Now()
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, "", Fail(connectionPart, controllerclient.Unreachable(err), "%s: %v", what, err)
	}
	return conn, fmt.Sprintf("%s: TCP in %v", what, time.Since(began).Round(time.Millisecond)), Finding{}
}

// handshake waits for the first octet as well: with TLS 1.3 a server denies a certificate after the client's handshake.
// asked is whether the server asks for one.
func handshake(ctx context.Context, conn net.Conn, config *tls.Config) (asked bool, err error) {
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	present := config.GetClientCertificate
	config.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		asked = true
		if present == nil {
			return &tls.Certificate{}, nil
		}
		return present(info)
	}
	secured := tls.Client(conn, config)
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return asked, err
	}
	if err := secured.HandshakeContext(ctx); err != nil {
		return asked, err
	}
	// A gRPC server sends its settings without being asked, after the client's preface at the latest.
	if _, err := secured.Write([]byte(preface)); err != nil {
		return asked, err
	}
	if _, err = secured.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
		err = errClosed
	}
	return asked, err
}
