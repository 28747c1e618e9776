// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/identity"
	"github.com/airbound/airbound/phone-agent/handover"
)

// options are those of several commands.
type options struct {
	plainText                   bool
	certificate, key, authority string
	credentials                 string
	events, eventsToken         string
	proxy                       string
	lines, newestFirst, json    bool
	recvInterval                time.Duration
}

// tlsFlags are about the connections.
func (o *options) tlsFlags(flags *flag.FlagSet) {
	flags.BoolVar(&o.plainText, "plain-text", false,
		"connect without TLS: anybody on the way can read and change everything; for labs, or inside another tunnel")
	flags.StringVar(&o.certificate, "tls-certificate", "", "`FILE` with this end's certificate, PEM")
	flags.StringVar(&o.key, "tls-key", "", "`FILE` with its key, PEM")
	flags.StringVar(&o.authority, "tls-authority", "", "`FILE` with the authorities of the peer's certificate, PEM")
}

// agentFlags are about the agent on this phone.
func (o *options) agentFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.credentials, "credentials-dir", "",
		"`DIR` of the agent's key and certificate; the server then needs a controller's certificate")
	flags.StringVar(&o.events, "events", "", "`SOCKET` of the agent, or ADDR:PORT of loopback, for arrivals")
	flags.StringVar(&o.eventsToken, "events-token", "", "`TOKEN` for ADDR:PORT")
}

func (o *options) flags(flags *flag.FlagSet) {
	o.tlsFlags(flags)
	flags.BoolVar(&o.lines, "lines", false, "a record is a line; without this it is what one read of the input returns")
	flags.BoolVar(&o.newestFirst, "newest-first", false, "send the newest records first; needs --lines")
	flags.BoolVar(&o.json, "json", false, "write JSON, an object in a line")
	flags.DurationVar(&o.recvInterval, "receive-interval", 0,
		"`TIME` without a sign of the peer after which a loss has begun (default 3s)")
}

func (o *options) check() error {
	switch {
	case o.plainText && (o.certificate != "" || o.key != "" || o.authority != "" || o.credentials != ""):
		return errors.New("--plain-text excludes certificates")
	case o.eventsToken != "" && o.events == "":
		return errors.New("--events-token needs --events")
	case o.credentials != "" && (o.certificate != "" || o.authority != ""):
		return errors.New("--credentials-dir excludes --tls-certificate and --tls-authority")
	case (o.certificate == "") != (o.key == ""):
		return errors.New("--tls-certificate and --tls-key go together")
	case o.newestFirst && !o.lines:
		return errors.New("--newest-first needs --lines: other records make no sense out of their order")
	case o.proxy != "" && (o.lines || o.newestFirst):
		return errors.New("--proxy carries bytes: it excludes --lines and --newest-first")
	}
	if o.recvInterval != 0 {
		const lowest, highest = 100 * time.Millisecond, time.Hour
		return command.CheckWithin("receive-interval", o.recvInterval, lowest, highest)
	}
	return nil
}

// config is of a pipe: its sender pauses when it likes.
func (o *options) config() handover.Config {
	return handover.Config{NewestFirst: o.newestFirst, Irregular: true, RecvInterval: o.recvInterval}
}

func (o *options) pool() (*x509.CertPool, error) {
	octets, err := os.ReadFile(o.authority)
	if err != nil {
		return nil, fmt.Errorf("read the authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(octets) {
		return nil, fmt.Errorf("read the authorities: %s has no certificate in PEM", o.authority)
	}
	return pool, nil
}

func (o *options) pair() ([]tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(o.certificate, o.key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	return []tls.Certificate{pair}, nil
}

// clientTLS is for the phone: the agent's certificate, or files.
func (o *options) clientTLS() (*tls.Config, error) {
	if o.plainText {
		return nil, nil //nolint:nilnil // no TLS is an answer
	}
	if o.credentials != "" {
		device, err := credentials.Open(credentials.Config{Directory: o.credentials, Role: identity.RoleTerminal})
		if err != nil {
			return nil, err
		}
		return device.TLS(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	var err error
	if o.authority != "" {
		if config.RootCAs, err = o.pool(); err != nil {
			return nil, err
		}
	}
	if o.certificate != "" {
		config.Certificates, err = o.pair()
	}
	return config, err
}

// serverTLS is for the server. With authorities phones need a certificate of theirs.
func (o *options) serverTLS() (*tls.Config, error) {
	if o.plainText {
		return nil, nil //nolint:nilnil // no TLS is an answer
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	var err error
	if config.Certificates, err = o.pair(); err != nil {
		return nil, err
	}
	if o.authority != "" {
		config.ClientAuth = tls.RequireAndVerifyClientCert
		config.ClientCAs, err = o.pool()
	}
	return config, err
}
