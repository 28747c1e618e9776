// SPDX-License-Identifier: Apache-2.0

package tcbpf

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// tcmsgBytes is the length of struct tcmsg: family and padding, then these fields of 4 bytes each.
const (
	tcmsgBytes    = 20
	tcmsgIndexAt  = 4
	tcmsgHandleAt = 8
	tcmsgParentAt = 12
	tcmsgInfoAt   = 16
)

// Attributes of a BPF filter (linux/pkt_cls.h).
const (
	tcaBPFFD    = 6
	tcaBPFName  = 7
	tcaBPFFlags = 8
	// actDirect makes the program's result that of the filter.
	actDirect = 1
)

// tcObject is a qdisc or filter of traffic control.
type tcObject struct {
	index, handle, parent, info uint32
	kind                        string
	// program is the name that a BPF filter was attached with.
	program string
}

// parseTC reads the message of a qdisc or filter, RTM_NEWQDISC or RTM_NEWTFILTER.
func parseTC(data []byte) (tcObject, error) {
	if len(data) < tcmsgBytes {
		return tcObject{}, fmt.Errorf("parse a message of traffic control: %d bytes", len(data))
	}
	object := tcObject{
		index:  binary.NativeEndian.Uint32(data[tcmsgIndexAt:]),
		handle: binary.NativeEndian.Uint32(data[tcmsgHandleAt:]),
		parent: binary.NativeEndian.Uint32(data[tcmsgParentAt:]),
		info:   binary.NativeEndian.Uint32(data[tcmsgInfoAt:]),
	}
	attributes, err := netlink.NewAttributeDecoder(data[tcmsgBytes:])
	if err != nil {
		return tcObject{}, fmt.Errorf("parse a message of traffic control: %w", err)
	}
	var options []byte
	for attributes.Next() {
		switch attributes.Type() {
		case unix.TCA_KIND:
			object.kind = attributes.String()
		case unix.TCA_OPTIONS:
			options = attributes.Bytes()
		}
	}
	if err := attributes.Err(); err != nil {
		return tcObject{}, fmt.Errorf("parse a message of traffic control: %w", err)
	}
	if object.kind != kindBPF || len(options) == 0 {
		return object, nil
	}
	nested, err := netlink.NewAttributeDecoder(options)
	if err != nil {
		return tcObject{}, fmt.Errorf("parse the options of a filter: %w", err)
	}
	for nested.Next() {
		if nested.Type() == tcaBPFName {
			object.program = nested.String()
		}
	}
	if err := nested.Err(); err != nil {
		return tcObject{}, fmt.Errorf("parse the options of a filter: %w", err)
	}
	return object, nil
}

// A filter's text says what it is, whose, and whether an agent has made the qdisc as well, which the last one removes:
// "airbound ROLE NAME" or "airbound ROLE NAME with-qdisc". So nothing has to be kept in a file.
const (
	textPrefix    = "airbound "
	textWithQdisc = " with-qdisc"
)

type filterText struct {
	role, agent string
	withQdisc   bool
}

func (f filterText) String() string {
	text := textPrefix + f.role + " " + f.agent
	if f.withQdisc {
		text += textWithQdisc
	}
	return text
}

// parseFilterText returns whether a text is that of an agent's filter.
func parseFilterText(text string) (filterText, bool) {
	rest, is := strings.CutPrefix(text, textPrefix)
	if !is {
		return filterText{}, false
	}
	rest, withQdisc := strings.CutSuffix(rest, textWithQdisc)
	role, agent, is := strings.Cut(rest, " ")
	if !is || agent == "" || role == "" {
		return filterText{}, false
	}
	return filterText{role: role, agent: agent, withQdisc: withQdisc}, true
}
