// SPDX-License-Identifier: Apache-2.0

package controllerclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/airbound/airbound/internal/identity"
)

// The next steps after errors of a connection. grpc-go passes on the text of an error alone, so each is added where the
// error has its type.
const (
	adviceNoTLS = "no TLS is spoken there: check the port, which is 50051 unless the operator chose another; a " +
		"controller without certificates, of a lab, needs plain-text"
	// adviceClosed is for a connection that was closed during the handshake: what the server speaks is unknown.
	adviceClosed = "check that a controller runs there (a proxy without one closes connections), and the port; or " +
		adviceNoTLS
	// adviceSlow is for a handshake without an answer in time: what the server speaks is unknown.
	adviceSlow = "try again later; if the error stays, check the port, and whether the network loses packets"
	// adviceTLS is for a connection in plain text.
	adviceTLS = "TLS is spoken there: remove plain-text from the configuration; or check the port"
	// adviceOtherPort follows from an answer of a gRPC server that has not the agents' service.
	adviceOtherPort = "this is another port than the agents': that is 50051 unless the operator chose another, " +
		"50052 is for operators, 50053 for enrolment"
)

// errTLSIsSpoken means that a server answered plain text with a record of TLS. errUnanswered means that the connection
// was closed before any answer: by a server of TLS, or by a proxy whose controller does not run.
var (
	errTLSIsSpoken = errors.New("the server does not speak HTTP/2 in plain text: " + adviceTLS)
	errUnanswered  = errors.New("the connection was closed without an answer: no controller runs there, or " +
		adviceTLS)
)

// Unreachable is what to do about an error of a TCP connection or of a name, one sentence.
func Unreachable(err error) string {
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return "check the name, and that this device has a DNS server; or write the controller's IP address"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "start the controller, or check address and port"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "check that this device has a network that reaches the controller, and that no firewall is between them"
	default:
		return "check the address and the network"
	}
}

// Insecure is what to do about an error of TLS, one sentence.
func Insecure(err error) string {
	var record tls.RecordHeaderError
	var ended x509.CertificateInvalidError
	switch {
	case errors.As(err, &record):
		return adviceNoTLS
	case isClosed(err):
		return adviceClosed
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return adviceSlow
	case errors.Is(err, identity.ErrNotPinned):
		return "check the address, or get a token of this controller"
	case errors.As(err, &ended) && ended.Reason == x509.Expired:
		return "set this device's clock if it is wrong, else renew the controller's certificate"
	case strings.Contains(err.Error(), "remote error: tls"):
		return "enrol again with a new token: the controller does not accept this device's certificate"
	default:
		return "check that this is the controller where the device was enrolled"
	}
}

// isClosed is whether the other end closed the connection.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// advised adds the next step to an error of a stream.
func advised(err error) error {
	if status.Code(err) == codes.Unimplemented {
		return fmt.Errorf("%w: %s", err, adviceOtherPort)
	}
	return err
}

// adviser is credentials whose errors have the next step.
type adviser struct {
	credentials.TransportCredentials
}

// ClientHandshake implements credentials.TransportCredentials.
func (a adviser) ClientHandshake(
	ctx context.Context, authority string, conn net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := a.TransportCredentials.ClientHandshake(ctx, authority, conn)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, Insecure(err))
	}
	return secured, info, err
}

// Clone implements credentials.TransportCredentials.
func (a adviser) Clone() credentials.TransportCredentials {
	return adviser{a.TransportCredentials.Clone()}
}

// plainText is credentials of a connection in plain text. grpc-go sets options of the socket before the handshake, so
// the connection is not wrapped earlier.
type plainText struct {
	credentials.TransportCredentials
}

// ClientHandshake implements credentials.TransportCredentials.
func (p plainText) ClientHandshake(
	ctx context.Context, authority string, conn net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	plain, info, err := p.TransportCredentials.ClientHandshake(ctx, authority, conn)
	if err == nil {
		plain = PlainText(plain)
	}
	return plain, info, err
}

// Clone implements credentials.TransportCredentials.
func (p plainText) Clone() credentials.TransportCredentials {
	return plainText{p.TransportCredentials.Clone()}
}

// plainConn finds out by the first octets whether a server speaks TLS. It is read by one goroutine.
type plainConn struct {
	net.Conn

	answered bool
}

// tlsAlert is the type of a record of TLS that says why a handshake failed (RFC 8446, 5.1). As HTTP/2 it would be a
// frame of over a megabyte.
const tlsAlert = 21

// Read implements net.Conn.
func (c *plainConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	switch {
	case c.answered:
	case n > 0 && into[0] == tlsAlert:
		return 0, errTLSIsSpoken
	case n == 0 && isClosed(err):
		return 0, errUnanswered
	case n > 0:
		c.answered = true
	}
	return n, err
}

// PlainText returns a connection in plain text that reports a server of TLS as such, and one that closes the
// connection without an answer as that.
func PlainText(conn net.Conn) net.Conn { return &plainConn{Conn: conn} }
