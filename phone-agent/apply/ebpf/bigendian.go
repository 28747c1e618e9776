// SPDX-License-Identifier: Apache-2.0

//go:build mips || mips64 || ppc64 || s390x

package ebpf

import (
	"fmt"
	"runtime"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/bounds"
)

// The programs are compiled for little-endian processors only, as phones have them. On others the back end is there
// and says so.

var errBigEndian = fmt.Errorf("%w: back end ebpf is not built for %s", apply.ErrNotSupported, runtime.GOARCH)

// BackEnd is the apply.BackEnd.
type BackEnd struct{}

var (
	_ apply.BackEnd = (*BackEnd)(nil)
	_ apply.Leaser  = (*BackEnd)(nil)
)

// New makes a back end that can do nothing.
func New(Options) *BackEnd { return &BackEnd{} }

// Up implements apply.BackEnd.
func (*BackEnd) Up() (bounds.Capabilities, error) { return bounds.Capabilities{}, errBigEndian }

// Lease implements apply.Leaser.
func (*BackEnd) Lease(int64) error { return errBigEndian }

// Set implements apply.BackEnd.
func (*BackEnd) Set([]bounds.Rule) (apply.Outcome, error) { return apply.Outcome{}, errBigEndian }

// Close implements apply.BackEnd.
func (*BackEnd) Close() error { return nil }

// CleanUp implements apply.BackEnd: there is nothing that could have been set.
func (*BackEnd) CleanUp() error { return nil }

// Live implements apply.BackEnd.
func (*BackEnd) Live() (apply.Live, error) { return apply.Live{}, errBigEndian }

// Held is nothing.
type Held struct{}

// Hold says that there is nothing to hold.
func (*BackEnd) Hold(int) (*Held, error) { return nil, errBigEndian }

// Close does nothing.
func (*Held) Close() {}

// CgroupIsGone is never asked.
func (*Held) CgroupIsGone() bool { return true }

// Finish does nothing.
func (*Held) Finish() error { return nil }

// Probe finds that the back end can do nothing here.
func Probe(Options) []apply.Finding {
	return []apply.Finding{{Feature: "a little-endian processor", Needed: true, Detail: errBigEndian.Error()}}
}
