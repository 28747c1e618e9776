// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"net/netip"

	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/identity"
	"github.com/airbound/airbound/phone-agent/statedir"
)

// openDevice returns the phone's certificate; nil with --plain-text.
func openDevice(
	options runOptions, directory statedir.Directory, dialed func(netip.AddrPort), logger *slog.Logger,
) (*credentials.Device, error) {
	security := options.security
	if security.PlainText {
		logger.Warn("connecting in plain text: anybody on the way can set bounds")
		if err := directory.SaveCredentials(identity.Status{PlainText: true}); err != nil {
			logger.Warn("cannot write the status of the certificate", "error", err)
		}
		return nil, nil //nolint:nilnil // no device is an answer
	}
	return credentials.Open(credentials.Config{
		Directory: security.Directory, Role: identity.RoleTerminal,
		Token: security.Token, TokenFile: security.TokenFile,
		Controllers: options.controller.Addresses, Enrolment: security.Enrolment, Dialed: dialed,
		SaveStatus: directory.SaveCredentials, Logger: logger,
	})
}
