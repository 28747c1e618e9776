// SPDX-License-Identifier: Apache-2.0

//go:build mips || mips64 || ppc64 || s390x

package arrival

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

var errBigEndian = fmt.Errorf("not built for %s: %w", runtime.GOARCH, errors.ErrUnsupported)

// Stock is a Kernel that can do nothing: the program is compiled for little-endian processors only.
type Stock struct{}

var (
	_ Kernel  = (*Stock)(nil)
	_ BackEnd = (*Stock)(nil)
)

// OpenStock says so.
func OpenStock() (*Stock, error) { return nil, errBigEndian }

// Retransmit implements BackEnd.
func (*Stock) Retransmit(time.Duration) (Outcome, error) { return Outcome{}, errBigEndian }

// Name implements BackEnd.
func (*Stock) Name() string { return Messages }

// Unanswered implements Kernel.
func (*Stock) Unanswered() ([]Connection, error) { return nil, errBigEndian }

// Revert implements Kernel.
func (*Stock) Revert(Connection) error { return errBigEndian }

// Close does nothing.
func (*Stock) Close() error { return nil }

// StockServers is a Servers that can do nothing either.
type StockServers struct{}

var _ Servers = (*StockServers)(nil)

// OpenStockServers says so.
func OpenStockServers() (*StockServers, error) { return nil, errBigEndian }

// Receiving implements Servers.
func (*StockServers) Receiving() ([]Download, error) { return nil, errBigEndian }

// Acknowledge implements Servers.
func (*StockServers) Acknowledge(Download) error { return errBigEndian }

// Unreachable implements Servers.
func (*StockServers) Unreachable(Download) error { return errBigEndian }

// Close does nothing.
func (*StockServers) Close() error { return nil }
