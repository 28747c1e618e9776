// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/identity"
)

const connectionPart = "connection"

// connectTimeout is for TCP, handshakeTimeout for TLS and the first answer; a full cell has an RTT of over 2 s.
const (
	connectTimeout   = 5 * time.Second
	handshakeTimeout = 10 * time.Second
)

// Connections connects to each controller, and without a certificate to where it enrols devices. device is nil without
// a certificate.
func Connections(
	ctx context.Context, controllers, enrolmentPorts []string, enrolment Enrolment, device *credentials.Device,
	now time.Time,
) []Finding {
	var secured *tls.Config
	if device != nil {
		secured = device.TLS()
	}
	findings := make([]Finding, 0, len(controllers)+len(enrolmentPorts))
	for _, address := range controllers {
		findings = append(findings, Controller(ctx, address, secured))
	}
	token, hasToken := enrolment.ParsedToken()
	if enrolment.PlainText || device != nil || !hasToken {
		return findings
	}
	for _, address := range enrolmentPorts {
		findings = append(findings, EnrolmentPort(ctx, address, token, now))
	}
	return findings
}

// Controller connects to a controller as the agent does. Without a configuration of TLS it opens the TCP connection
// only. What a controller thinks of the certificate is not asked.
func Controller(ctx context.Context, address string, secured *tls.Config) Finding {
	return connect(ctx, "controller "+address, address, secured)
}

// EnrolmentPort connects to where the controller enrols devices, and verifies it by the token as the agent does. The
// token is not sent.
func EnrolmentPort(ctx context.Context, address string, token identity.Token, now time.Time) Finding {
	return connect(ctx, "enrolment at "+address, address, &tls.Config{
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
}

func connect(ctx context.Context, what, address string, secured *tls.Config) Finding {
	dialer := net.Dialer{Timeout: connectTimeout}
	began := time.Now()
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return failure(connectionPart, unreachable(err), "%s: %v", what, err)
	}
	defer func() { _ = conn.Close() }()
	reached := fmt.Sprintf("%s: TCP in %v", what, time.Since(began).Round(time.Millisecond))
	if secured == nil {
		return ok(connectionPart, "%s", reached)
	}
	if err := handshake(ctx, conn, secured); err != nil {
		return failure(connectionPart, insecure(err), "%s, but TLS: %v", reached, err)
	}
	return ok(connectionPart, "%s, TLS", reached)
}

// handshake waits for the first octet as well: with TLS 1.3 a server denies a certificate after the client's handshake.
func handshake(ctx context.Context, conn net.Conn, config *tls.Config) error {
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	secured := tls.Client(conn, config)
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return err
	}
	if err := secured.HandshakeContext(ctx); err != nil {
		return err
	}
	// A gRPC server sends its settings without being asked, after the client's preface at the latest.
	if _, err := secured.Write([]byte(preface)); err != nil {
		return err
	}
	_, err := secured.Read(make([]byte, 1))
	return err
}

// preface is that of a client of HTTP/2 (RFC 9113, 3.4), with empty settings.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

func unreachable(err error) string {
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return "check the name; or write the controller's IP address, or name a DNS server with --dns"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "start the controller, or check the port"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "check that the phone is in a network that reaches the controller, and that no firewall is between them"
	default:
		return "check the address and the network"
	}
}

func insecure(err error) string {
	var record tls.RecordHeaderError
	var ended x509.CertificateInvalidError
	switch {
	case errors.As(err, &record):
		return "check the port: no TLS is spoken there; a controller of a lab needs plain-text"
	case errors.Is(err, identity.ErrNotPinned):
		return "check the address, or get a token from this controller: " + enrolAgain
	case errors.As(err, &ended) && ended.Reason == x509.Expired:
		return "set this phone's clock if it is wrong, else renew the controller's certificate"
	case strings.Contains(err.Error(), "remote error: tls"):
		return "enrol again with a new token: the controller does not accept this phone's certificate"
	default:
		return "check that this is the controller where the phone was enrolled"
	}
}
