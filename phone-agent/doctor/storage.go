// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"

	"github.com/airbound/airbound/internal/diagnosis"
	"github.com/airbound/airbound/phone-agent/blockio"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
)

const storagePart = "storage"

const onlyForIO = "nothing, unless you want to use `airbound-phone io`"

// Storage is what `airbound-phone io` can record on this kernel, and lacks.
func Storage(places []string) []diagnosis.Finding {
	root, err := tracefs.Mounted(places, tracefs.RealKernel())
	if err != nil {
		return []diagnosis.Finding{diagnosis.Warn(storagePart, onlyForIO, "requests cannot be recorded: %v", err)}
	}
	var decoder blockio.Decoder
	var has []string
	lacks := map[string][]string{}
	for _, event := range blockio.KernelEvents {
		format, err := root.Format(event.System, event.Name)
		if err == nil {
			err = decoder.Add(event, format)
		}
		switch {
		case err == nil:
			has = append(has, event.Name)
		case event.Without == "":
			return []diagnosis.Finding{diagnosis.Warn(storagePart, onlyForIO, "requests cannot be recorded: %v", err)}
		default:
			lacks[event.Without] = append(lacks[event.Without], event.Name)
		}
	}
	findings := []diagnosis.Finding{
		diagnosis.Good(storagePart, "requests can be recorded: %s", strings.Join(has, ", ")),
	}
	for _, event := range blockio.KernelEvents { // In their order.
		if names := lacks[event.Without]; names != nil {
			findings = append(findings, diagnosis.Warn(storagePart, onlyForIO, "not recorded: %s: the kernel lacks %s",
				event.Without, strings.Join(names, ", ")))
			delete(lacks, event.Without)
		}
	}
	return findings
}
