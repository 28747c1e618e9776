// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/identity"
)

// agentRole is what this test binary does if it is started as an agent: it enrols, or renews, once.
type agentRole struct {
	Directory, Token, Controller, Enrolment string
	// Renew waits for a certificate that is not due for renewal.
	Renew bool
}

const roleVariable = "AIRBOUND_TEST_AGENT"

func (role agentRole) environment(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(role)
	if err != nil {
		t.Fatal(err)
	}
	return roleVariable + "=" + string(text)
}

func TestMain(m *testing.M) {
	text, isAgent := os.LookupEnv(roleVariable)
	if !isAgent {
		os.Exit(m.Run())
	}
	var role agentRole
	err := json.Unmarshal([]byte(text), &role)
	if err == nil {
		err = role.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (role agentRole) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	device, err := credentials.Open(credentials.Quick(credentials.Config{
		Directory: role.Directory, Role: identity.RoleTerminal, Token: role.Token,
		Controllers: []string{role.Controller}, Enrolment: []string{role.Enrolment},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}))
	if err != nil {
		return err
	}
	return device.Run(ctx, func(ctx context.Context) error {
		for role.Renew && device.RenewAt().Before(time.Now()) {
			select {
			case <-ctx.Done():
				return errors.New("the certificate was not renewed")
			case <-time.After(time.Millisecond):
			}
		}
		return nil
	})
}
