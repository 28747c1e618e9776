// SPDX-License-Identifier: Apache-2.0

package tcbpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// tcx is the way of Linux 6.6 and later. The kernel detaches the programs when the process ends, however it does.
type tcx []link.Link

// attachTCX attaches the programs before all others: another one may end the way of a packet.
func attachTCX(index uint32, programs []Program) (Attachment, error) {
	var all tcx
	for _, each := range programs {
		to := ebpf.AttachTCXIngress
		if each.Place == Egress {
			to = ebpf.AttachTCXEgress
		}
		attached, err := link.AttachTCX(link.TCXOptions{
			Interface: int(index), Program: each.Program, Attach: to, Anchor: link.Head(),
		})
		if err != nil {
			return nil, errors.Join(Explain(fmt.Sprintf("attach to interface %d", index), err), all.Close())
		}
		all = append(all, attached)
	}
	return all, nil
}

// IsLive implements Attachment.
func (t tcx) IsLive() bool {
	for _, each := range t {
		info, err := each.Info()
		if err != nil {
			return false
		}
		if where := info.TCX(); where == nil || where.Ifindex == 0 {
			return false
		}
	}
	return true
}

// Close implements Attachment.
func (t tcx) Close() error {
	errs := make([]error, len(t))
	for i, each := range t {
		errs[i] = each.Close()
	}
	return errors.Join(errs...)
}
