// SPDX-License-Identifier: Apache-2.0

package credentialstest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"path"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Controller serves enrolment on one address, and renewal with whatever Register adds on another, by mutual TLS. Set
// changes how; the fields are as the tests of wrong answers need them.
type Controller struct {
	airboundv1.UnimplementedEnrollmentServiceServer
	airboundv1.UnimplementedCertificateServiceServer
	t *testing.T

	// Addresses of the two servers.
	Enrolment, Streams string

	mutex sync.Mutex
	Behaviour
	tokens map[string]*token
	counts Counts
}

// Behaviour is what a test may change.
type Behaviour struct {
	// Signs certificates of devices.
	Authority *Authority
	// Trusted are the authorities of devices that are accepted, and what answers contain.
	Trusted []*Authority
	// Server is the certificate of both servers.
	Server *tls.Certificate
	// VersionMax limits TLS; 0 does not.
	VersionMax uint16
	// Life is how long certificates are valid, from now on.
	Life time.Duration
	// Alter, unless nil, changes an answer. The leaf is what is to be issued.
	Alter func(leaf *Leaf, answer *airboundv1.Credentials)
	// LoseAnswers is how many answers to enrolments are lost from now on.
	LoseAnswers int
	// RefuseRenewal, unless nil, is the answer to renewals.
	RefuseRenewal error
	// AnyRole makes it an older controller: a token is good whatever role the request names.
	AnyRole bool
}

// Counts are what has happened so far.
type Counts struct{ Enrolments, RefusedEnrolments, Renewals int }

type token struct {
	role, name string
	expired    bool
	usedBy     []byte // public key, PKIX
}

// Start runs a controller until the test ends. Its authority is new. Register adds services for streams.
func Start(t *testing.T, register func(*grpc.Server)) *Controller {
	t.Helper()
	authority := NewAuthority(t, "authority")
	c := &Controller{t: t, tokens: map[string]*token{}, Behaviour: Behaviour{
		Authority: authority, Trusted: []*Authority{authority}, Server: authority.Server(ControllerLeaf()),
		Life: time.Hour,
	}}
	c.Enrolment = c.serve(tls.NoClientCert, func(server *grpc.Server) {
		airboundv1.RegisterEnrollmentServiceServer(server, c)
	})
	c.Streams = c.serve(tls.RequireAndVerifyClientCert, func(server *grpc.Server) {
		airboundv1.RegisterCertificateServiceServer(server, c)
		if register != nil {
			register(server)
		}
	})
	return c
}

func (c *Controller) serve(clients tls.ClientAuthType, register func(*grpc.Server)) string {
	c.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // ends with the test
	if err != nil {
		c.t.Fatal(err)
	}
	config := &tls.Config{
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.tls(clients), nil },
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	register(server)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	c.t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return listener.Addr().String()
}

func (c *Controller) tls(clients tls.ClientAuthType) *tls.Config {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	trusted := x509.NewCertPool()
	for _, authority := range c.Trusted {
		trusted.AddCert(authority.Certificate)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{*c.Server}, ClientAuth: clients, ClientCAs: trusted, MaxVersion: c.VersionMax,
		NextProtos: []string{"h2"},
	}
}

// Set changes how the controller behaves from the next handshake or call on.
func (c *Controller) Set(change func(*Behaviour)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	change(&c.Behaviour)
}

// Counts returns what has happened so far.
func (c *Controller) Counts() Counts {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.counts
}

// Invite makes a token for a role and a name.
func (c *Controller) Invite(role, name string) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	text := c.Authority.Token()
	c.tokens[text] = &token{role: role, name: name}
	return text
}

// Enroll follows the contract: a token is used once, or again with the same key.
func (c *Controller) Enroll(
	ctx context.Context, request *airboundv1.EnrollRequest,
) (*airboundv1.EnrollResponse, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	asked, err := parseRequest(request.GetRequest())
	if err != nil {
		return nil, err
	}
	known, found := c.tokens[request.GetToken()]
	if !found {
		return nil, c.refuse(ctx, "TOKEN_UNKNOWN", "the token is unknown")
	}
	if role := request.GetRole(); role != "" && role != known.role && !c.AnyRole {
		return nil, c.refuse(ctx, "TOKEN_OF_ANOTHER_ROLE", "the token is for the role "+known.role)
	}
	if known.usedBy != nil && !bytes.Equal(known.usedBy, asked.RawSubjectPublicKeyInfo) {
		return nil, c.refuse(ctx, "TOKEN_USED", "the token was used")
	}
	if known.expired && known.usedBy == nil {
		return nil, c.refuse(ctx, "TOKEN_EXPIRED", "the token has expired")
	}
	known.usedBy = asked.RawSubjectPublicKeyInfo
	if c.LoseAnswers > 0 {
		c.LoseAnswers--
		return nil, status.Error(codes.Unavailable, "the answer was lost")
	}
	c.counts.Enrolments++
	id := "spiffe://" + TrustDomain + "/" + path.Join(known.role, known.name)
	return &airboundv1.EnrollResponse{Credentials: c.issue(id, asked)}, nil
}

// refuse has the code of the reason in the trailing metadata, as a controller does. The mutex is locked.
func (c *Controller) refuse(ctx context.Context, reason, text string) error {
	c.counts.RefusedEnrolments++
	_ = grpc.SetTrailer(ctx, metadata.Pairs("airbound-reason", reason))
	return status.Error(codes.PermissionDenied, text)
}

// Expire makes a token one that has expired.
func (c *Controller) Expire(text string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.tokens[text].expired = true
}

// Use makes a token one that another device has used.
func (c *Controller) Use(text string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.tokens[text].usedBy = []byte("the key of another device")
}

// Renew issues a certificate for the client's URI.
func (c *Controller) Renew(ctx context.Context, request *airboundv1.RenewRequest) (*airboundv1.RenewResponse, error) {
	presented, err := Presented(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := parseRequest(request.GetRequest())
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.RefuseRenewal != nil {
		return nil, c.RefuseRenewal
	}
	c.counts.Renewals++
	return &airboundv1.RenewResponse{Credentials: c.issue(presented.URIs[0].String(), asked)}, nil
}

func parseRequest(der []byte) (*x509.CertificateRequest, error) {
	asked, err := x509.ParseCertificateRequest(der)
	if err == nil {
		err = asked.CheckSignature()
	}
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the request: %v", err)
	}
	return asked, nil
}

func (c *Controller) issue(id string, asked *x509.CertificateRequest) *airboundv1.Credentials {
	now := time.Now()
	leaf := Leaf{
		URIs: []string{id}, Usage: x509.ExtKeyUsageClientAuth, NotBefore: now, NotAfter: now.Add(c.Life),
		Public: asked.PublicKey,
	}
	answer := &airboundv1.Credentials{}
	if c.Alter != nil {
		c.Alter(&leaf, answer)
	}
	if answer.Certificate == nil {
		answer.Certificate = c.Authority.Issue(leaf).Raw
	}
	if answer.Authorities == nil {
		for _, authority := range c.Trusted {
			answer.Authorities = append(answer.Authorities, authority.Certificate.Raw)
		}
	}
	return answer
}

// Presented returns the certificate that the client of a call presented.
func Presented(ctx context.Context) (*x509.Certificate, error) {
	from, _ := peer.FromContext(ctx)
	info, ok := from.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return nil, errors.New("the client presented no certificate")
	}
	return info.State.PeerCertificates[0], nil
}
