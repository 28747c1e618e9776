// SPDX-License-Identifier: Apache-2.0

package tcbpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// attachment is both programs at an interface.
type attachment interface {
	// isLive is false if they are not there any more: the interface is gone, or something else has removed them.
	isLive() bool
	close() error
}

// tcx is the way of Linux 6.6 and later. The kernel detaches the programs when the process ends, however it does.
type tcx []link.Link

// attachTCX attaches the programs before all others: another one may end the way of a packet.
func attachTCX(objects *clampObjects, index uint32) (attachment, error) {
	var both tcx
	for _, each := range []struct {
		program *ebpf.Program
		to      ebpf.AttachType
	}{
		{objects.AirboundUp, ebpf.AttachTCXIngress}, {objects.AirboundDown, ebpf.AttachTCXEgress},
	} {
		attached, err := link.AttachTCX(link.TCXOptions{
			Interface: int(index), Program: each.program, Attach: each.to, Anchor: link.Head(),
		})
		if err != nil {
			return nil, errors.Join(explain(fmt.Sprintf("attach to interface %d", index), err), both.close())
		}
		both = append(both, attached)
	}
	return both, nil
}

func (t tcx) isLive() bool {
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

func (t tcx) close() error {
	errs := make([]error, len(t))
	for i, each := range t {
		errs[i] = each.Close()
	}
	return errors.Join(errs...)
}

// explain adds the meaning of an error of the kernel's interface.
func explain(what string, err error) error {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		// The verifier says why it refuses. The library has its error also for types that are not permitted.
		if verifier, _ := errors.AsType[*ebpf.VerifierError](err); verifier != nil && len(verifier.Log) > 0 {
			return fmt.Errorf("%s: the kernel's verifier refuses it: %w", what, err)
		}
		return fmt.Errorf("%s: the kernel does not permit it; "+
			"the agent needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: %w", what, err)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%s: the kernel has no BPF: %w", what, err)
	case errors.Is(err, ebpf.ErrNotSupported):
		return fmt.Errorf("%s: the kernel does not support it: %w", what, err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}
