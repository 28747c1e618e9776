// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// reportsTotal is the name of the counter of reports that the controller has handled, whatever came of them.
const reportsTotal = "reports_total"

// Operators is a connection to the operators' address of a controller.
type Operators struct {
	conn   *grpc.ClientConn
	client airboundv1.OperationsServiceClient
}

// DialOperators prepares a connection, in plain text if config is nil.
func DialOperators(address string, config *tls.Config) (*Operators, error) {
	transport := insecure.NewCredentials()
	if config != nil {
		transport = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(transport), grpc.WithNoProxy(), grpc.WithDisableServiceConfig())
	if err != nil {
		return nil, fmt.Errorf("prepare connection to %s: %w", address, err)
	}
	return &Operators{conn, airboundv1.NewOperationsServiceClient(conn)}, nil
}

// Close ends the connection.
func (o *Operators) Close() { _ = o.conn.Close() }

// Reports returns how many reports the controller has handled since it started.
func (o *Operators) Reports(ctx context.Context) (int64, error) {
	// A controller with a second of work before it still answers.
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	answer, err := o.client.GetController(ctx, &airboundv1.GetControllerRequest{}, grpc.WaitForReady(false))
	if err != nil {
		return 0, fmt.Errorf("ask the controller for its counters: %w", err)
	}
	var reports int64
	found := false
	for _, counter := range answer.GetCounters() {
		if counter.GetName() == reportsTotal {
			found = true
			reports += int64(counter.GetValue()) //nolint:gosec // nobody sends 2^63 reports
		}
	}
	if !found && len(answer.GetCounters()) > 0 {
		return 0, fmt.Errorf("the controller has no counter %s", reportsTotal)
	}
	return reports, nil
}
