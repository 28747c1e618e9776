// SPDX-License-Identifier: Apache-2.0

package tcbpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

const (
	kindClsact = "clsact"
	kindBPF    = "bpf"

	// Of the qdisc clsact, and of its two places for filters (linux/pkt_sched.h).
	clsactHandle  = 0xffff0000
	clsactParent  = 0xfffffff1
	clsactIngress = 0xfffffff2
	clsactEgress  = 0xfffffff3

	filterHandle = 0xa1b
)

// clsact is the way before Linux 6.6: filters that stay until they are removed, or the interface is.
type clsact struct {
	index uint32
	agent string
	roles []string
}

// traffic speaks to traffic control of the thread's network namespace.
type traffic struct{ conn *netlink.Conn }

func dialTraffic() (*traffic, error) {
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink socket: %w", err)
	}
	return &traffic{conn}, nil
}

func (t *traffic) close() { _ = t.conn.Close() } // Only a descriptor.

// attachClsact adds the filters, and the qdisc if there is none. Those that an agent has left are replaced in place,
// without a packet that passes neither.
func attachClsact(index uint32, agent string, priority uint32, programs []Program) (Attachment, error) {
	t, err := dialTraffic()
	if err != nil {
		return nil, err
	}
	defer t.close()
	made, err := t.addQdisc(index)
	if err != nil {
		return nil, Explain(fmt.Sprintf("add qdisc clsact to interface %d", index), err)
	}
	attached := clsact{index: index, agent: agent}
	for _, each := range programs {
		attached.roles = append(attached.roles, each.Role)
		if err := t.addFilter(each, index, priority, filterText{each.Role, agent, made}); err != nil {
			return nil, errors.Join(
				Explain(fmt.Sprintf("add filter %q to interface %d", each.Role, index), err), attached.Close())
		}
	}
	return attached, nil
}

// addQdisc returns whether the qdisc is the agents' own: made now, or by an earlier one.
func (t *traffic) addQdisc(index uint32) (made bool, err error) {
	_, err = t.execute(unix.RTM_NEWQDISC, netlink.Create|netlink.Excl|netlink.Acknowledge,
		tcObject{index: index, handle: clsactHandle, parent: clsactParent}, attribute(unix.TCA_KIND, kindClsact))
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, unix.EEXIST) {
		if errors.Is(err, unix.ENOENT) {
			err = fmt.Errorf("the kernel has neither TCX nor clsact: %w", err)
		}
		return false, err
	}
	qdiscs, err := t.list(unix.RTM_GETQDISC, index, 0)
	if err != nil {
		return false, err
	}
	isClsact := func(q tcObject) bool { return q.handle == clsactHandle && q.kind == kindClsact }
	if !slices.ContainsFunc(qdiscs, isClsact) {
		return false, errors.New("something else has put a qdisc of another kind there")
	}
	filters, err := t.filters(index)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(filters, func(f tcObject) bool {
		text, is := parseFilterText(f.program)
		return is && text.withQdisc
	}), nil
}

func (t *traffic) addFilter(program Program, index, priority uint32, text filterText) error {
	parent := uint32(clsactIngress)
	if program.Place == Egress {
		parent = clsactEgress
	}
	there, err := t.list(unix.RTM_GETTFILTER, index, parent)
	if err != nil {
		return err
	}
	for _, filter := range there {
		_, own := parseFilterText(filter.program)
		// An entry without a handle is that of the priority itself.
		if filter.handle != 0 && filter.info>>16 == priority && !own {
			return fmt.Errorf("something else has a filter with priority %d there", priority)
		}
	}
	encoder := netlink.NewAttributeEncoder()
	encoder.String(unix.TCA_KIND, kindBPF)
	encoder.Nested(unix.TCA_OPTIONS, func(options *netlink.AttributeEncoder) error {
		options.Uint32(tcaBPFFD, uint32(program.Program.FD())) //nolint:gosec // a descriptor
		options.String(tcaBPFName, text.String())
		options.Uint32(tcaBPFFlags, actDirect)
		return nil
	})
	attributes, err := encoder.Encode()
	if err != nil {
		return err
	}
	_, err = t.execute(unix.RTM_NEWTFILTER, netlink.Create|netlink.Acknowledge, filterAt(index, parent, priority),
		attributes)
	return err
}

func filterAt(index, parent, priority uint32) tcObject {
	protocol := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	return tcObject{index: index, handle: filterHandle, parent: parent, info: priority<<16 | uint32(protocol)}
}

// filters lists those of both directions.
func (t *traffic) filters(index uint32) ([]tcObject, error) {
	up, err := t.list(unix.RTM_GETTFILTER, index, clsactIngress)
	if err != nil {
		return nil, err
	}
	down, err := t.list(unix.RTM_GETTFILTER, index, clsactEgress)
	return append(up, down...), err
}

func (t *traffic) list(what uint16, index, parent uint32) ([]tcObject, error) {
	messages, err := t.execute(what, netlink.Dump, tcObject{index: index, parent: parent}, nil)
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) {
		return nil, nil // No such interface, or no such qdisc there.
	}
	if err != nil {
		return nil, err
	}
	objects := make([]tcObject, 0, len(messages))
	for _, message := range messages {
		object, err := parseTC(message.Data)
		if err != nil {
			return nil, err
		}
		// A dump of qdiscs is of all interfaces; one of filters has an entry for each chain, too, without a handle.
		if index == 0 || object.index == index {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

func (t *traffic) execute(
	what uint16, flags netlink.HeaderFlags, object tcObject, attributes []byte,
) ([]netlink.Message, error) {
	data := make([]byte, tcmsgBytes, tcmsgBytes+len(attributes))
	binary.NativeEndian.PutUint32(data[tcmsgIndexAt:], object.index)
	binary.NativeEndian.PutUint32(data[tcmsgHandleAt:], object.handle)
	binary.NativeEndian.PutUint32(data[tcmsgParentAt:], object.parent)
	binary.NativeEndian.PutUint32(data[tcmsgInfoAt:], object.info)
	return t.conn.Execute(netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(what), Flags: netlink.Request | flags},
		Data:   append(data, attributes...),
	})
}

func attribute(kind uint16, value string) []byte {
	encoder := netlink.NewAttributeEncoder()
	encoder.String(kind, value)
	encoded, _ := encoder.Encode() // Fails only for a text of 64 KiB.
	return encoded
}

// IsLive implements Attachment.
func (c clsact) IsLive() bool {
	t, err := dialTraffic()
	if err != nil {
		return true // Not known; the next look may know.
	}
	defer t.close()
	filters, err := t.filters(c.index)
	if err != nil {
		return true
	}
	own := 0
	for _, filter := range filters {
		if text, is := parseFilterText(filter.program); is && c.has(text) {
			own++
		}
	}
	return own == len(c.roles)
}

func (c clsact) has(text filterText) bool {
	return text.agent == c.agent && slices.Contains(c.roles, text.role)
}

// Close implements Attachment.
func (c clsact) Close() error {
	t, err := dialTraffic()
	if err != nil {
		return err
	}
	defer t.close()
	return t.remove(c.index, c.has)
}

// remove removes filters of an agent at an interface, and the qdisc if an agent made it and no other filter is there.
func (t *traffic) remove(index uint32, which func(filterText) bool) error {
	filters, err := t.filters(index)
	if err != nil {
		return fmt.Errorf("list the filters of interface %d: %w", index, err)
	}
	left, withQdisc := 0, false
	for _, filter := range filters {
		text, is := parseFilterText(filter.program)
		if !is || !which(text) {
			if filter.handle != 0 {
				left++
			}
			continue
		}
		withQdisc = withQdisc || text.withQdisc
		_, err := t.execute(unix.RTM_DELTFILTER, netlink.Acknowledge,
			tcObject{index: index, handle: filter.handle, parent: filter.parent, info: filter.info}, nil)
		if err != nil && !isGone(err) {
			return fmt.Errorf("remove a filter of interface %d: %w", index, err)
		}
	}
	if !withQdisc || left > 0 {
		return nil
	}
	_, err = t.execute(unix.RTM_DELQDISC, netlink.Acknowledge,
		tcObject{index: index, handle: clsactHandle, parent: clsactParent}, attribute(unix.TCA_KIND, kindClsact))
	if err != nil && !isGone(err) {
		return fmt.Errorf("remove the qdisc of interface %d: %w", index, err)
	}
	return nil
}

func isGone(err error) bool {
	return errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL)
}

// RemoveLeft removes what an agent has left at any interface by clsact: it was killed.
func RemoveLeft(agent string) error {
	t, err := dialTraffic()
	if err != nil {
		return err
	}
	defer t.close()
	qdiscs, err := t.list(unix.RTM_GETQDISC, 0, 0)
	if err != nil {
		return fmt.Errorf("list qdiscs: %w", err)
	}
	var errs []error
	for _, qdisc := range qdiscs {
		if qdisc.kind == kindClsact {
			errs = append(errs, t.remove(qdisc.index, func(text filterText) bool { return text.agent == agent }))
		}
	}
	return errors.Join(errs...)
}
