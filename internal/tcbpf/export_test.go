// SPDX-License-Identifier: Apache-2.0

package tcbpf

// What tests use of the inside.
type (
	// TCObject is a qdisc or filter.
	TCObject = tcObject
	// FilterText is the text of an agent's filter.
	FilterText = filterText
)

// ParseTC and ParseFilterText are fuzzed.
var (
	ParseTC         = parseTC
	ParseFilterText = parseFilterText
)

// Program is the text of a BPF filter.
func (o tcObject) Program() string { return o.program }
