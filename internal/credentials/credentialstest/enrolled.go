// SPDX-License-Identifier: Apache-2.0

package credentialstest

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/airbound/airbound/internal/credentials"
)

// Enrolled makes the credentials' directory of a device, "phone-7", that enrolls at the controller.
func (c *Controller) Enrolled(t *testing.T, role string) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "credentials")
	device, err := credentials.Open(credentials.Config{
		Directory: directory, Role: role, Token: c.Invite(role, "phone-7"),
		Controllers: []string{c.Streams}, Enrolment: []string{c.Enrolment},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err == nil {
		err = device.Run(t.Context(), func(context.Context) error { return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	return directory
}
