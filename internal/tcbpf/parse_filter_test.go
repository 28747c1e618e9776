// SPDX-License-Identifier: Apache-2.0

package tcbpf_test

import (
	"strings"
	"testing"

	"github.com/mdlayher/netlink"

	"github.com/airbound/airbound/internal/tcbpf"
)

// filterMessage is one of RTM_NEWTFILTER as the kernel sends it.
func filterMessage(kind, name string) []byte {
	encoder := netlink.NewAttributeEncoder()
	encoder.String(1, kind) // TCA_KIND
	encoder.Uint32(11, 0)   // TCA_CHAIN
	encoder.Nested(2, func(options *netlink.AttributeEncoder) error {
		options.String(7, name) // TCA_BPF_NAME
		options.Uint32(8, 1)
		return nil
	})
	attributes, _ := encoder.Encode()
	header := make([]byte, 20)
	header[4], header[8], header[12], header[18] = 3, 0x1b, 0xf2, 77
	return append(header, attributes...)
}

func TestMessagesOfTrafficControl(t *testing.T) {
	t.Parallel()
	const text = "airbound up X with-qdisc"
	got, err := tcbpf.ParseTC(filterMessage("bpf", text))
	if err != nil || got.Program() != text {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := tcbpf.ParseTC(filterMessage("u32", text)); err != nil || got.Program() != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if parsed, is := tcbpf.ParseFilterText(text); !is || parsed.String() != text {
		t.Errorf("%+v", parsed)
	}
	for _, foreign := range []string{"", "airbound", "airbound up", "airbound up ", "airbound  X", "other up X"} {
		if text, is := tcbpf.ParseFilterText(foreign); is {
			t.Errorf("%q: %+v", foreign, text)
		}
	}
	whole := filterMessage("bpf", "x")
	for length := range whole {
		if _, err := tcbpf.ParseTC(whole[:length]); err == nil && length < 20 {
			t.Errorf("%d bytes are a message", length)
		}
	}
}

func FuzzMessagesOfTrafficControl(f *testing.F) {
	f.Add(filterMessage("bpf", "airbound down X"))
	f.Add(filterMessage("u32", ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := tcbpf.ParseTC(data); err != nil && !strings.Contains(err.Error(), "parse") {
			t.Error(err)
		}
	})
}

func FuzzFilterTexts(f *testing.F) {
	f.Add("airbound up X with-qdisc")
	f.Fuzz(func(t *testing.T, text string) {
		if parsed, is := tcbpf.ParseFilterText(text); is && parsed.String() != text {
			t.Errorf("%q became %q", text, parsed.String())
		}
	})
}
