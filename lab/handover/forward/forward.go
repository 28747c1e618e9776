// SPDX-License-Identifier: Apache-2.0

// Package forward carries frames between a phone's interface and a server's, as a path says; Linux only.
//
// One thread and one epoll: in the lab's guest, where time passes only while all wait, a frame leaves at its moment to
// the nanosecond.
package forward

import (
	"container/heap"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/lab/handover/lane"
	"github.com/airbound/airbound/lab/handover/path"
)

const (
	// frameBytes is more than any frame: the interfaces make no larger ones than their MTU.
	frameBytes = 4096
	// receiveBufferBytes is more than all that a lane has in flight.
	receiveBufferBytes = 16 << 20
	events             = 64
)

// Forwarder has the sockets of all lanes.
type Forwarder struct {
	lanes  []*one
	ends   map[int32]end
	epoll  int
	timer  int
	waits  waiting
	number uint64
	zero   time.Duration
}

type one struct {
	path    *path.Path
	traffic lane.Traffic
	// sockets are the phone's and the server's side.
	sockets [2]int
}

type end struct {
	lane      *one
	direction path.Direction
}

// Open opens the interfaces of a plan's lanes. Time zero is a moment of the monotonic clock.
func Open(plan *lane.Plan, zero time.Duration) (*Forwarder, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make an epoll: %w", err)
	}
	f := &Forwarder{epoll: epoll, ends: map[int32]end{}, zero: zero}
	if f.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	if err := f.watch(f.timer); err != nil {
		return nil, err
	}
	for i := range plan.Lanes {
		if err := f.add(&plan.Lanes[i]); err != nil {
			return nil, fmt.Errorf("lane %q: %w", plan.Lanes[i].Name, err)
		}
	}
	return f, nil
}

func (f *Forwarder) add(l *lane.Lane) error {
	added := &one{path: path.New(l.Path), traffic: lane.Traffic{Name: l.Name}}
	for side, name := range []string{l.Near, l.Far} {
		socket, err := open(name)
		if err != nil {
			return fmt.Errorf("open %s: %w", name, err)
		}
		added.sockets[side] = socket
		// What the phone's side receives goes up.
		f.ends[int32(socket)] = end{added, path.Direction(side)} //nolint:gosec // a file descriptor
		if err := f.watch(socket); err != nil {
			return err
		}
	}
	f.lanes = append(f.lanes, added)
	return nil
}

func (f *Forwarder) watch(fd int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)} //nolint:gosec // a file descriptor
	if err := unix.EpollCtl(f.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		return fmt.Errorf("watch a file descriptor: %w", err)
	}
	return nil
}

// open returns a packet socket of an interface, for all that comes in.
func open(name string) (int, error) {
	link, err := net.InterfaceByName(name)
	if err != nil {
		return 0, fmt.Errorf("find it: %w", err)
	}
	protocol := uint16(unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8) // network byte order
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, fmt.Errorf("make a socket: %w", err)
	}
	for _, option := range []struct {
		level, name, value int
		what               string
	}{
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1, "ignore what is sent"},
		{unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBufferBytes, "enlarge the buffer"},
	} {
		if err := unix.SetsockoptInt(socket, option.level, option.name, option.value); err != nil {
			return 0, fmt.Errorf("%s: %w", option.what, err)
		}
	}
	address := unix.SockaddrLinklayer{Protocol: protocol, Ifindex: link.Index}
	if err := unix.Bind(socket, &address); err != nil {
		return 0, fmt.Errorf("bind: %w", err)
	}
	return socket, nil
}

// Run forwards until a moment after time zero.
func (f *Forwarder) Run(until time.Duration) error {
	happened := make([]unix.EpollEvent, events)
	for {
		now, err := f.now()
		if err != nil {
			return err
		}
		if err := f.deliver(now); err != nil {
			return err
		}
		if now >= until {
			return nil
		}
		if err := f.arm(until); err != nil {
			return err
		}
		count, err := unix.EpollWait(f.epoll, happened, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait for frames: %w", err)
		}
		if now, err = f.now(); err != nil {
			return err
		}
		for _, event := range happened[:count] {
			if from, known := f.ends[event.Fd]; known {
				if err := f.receive(int(event.Fd), from, now); err != nil {
					return err
				}
			}
		}
	}
}

func (f *Forwarder) now() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, fmt.Errorf("read the clock: %w", err)
	}
	return time.Duration(now.Nano()) - f.zero, nil
}

// arm sets the timer to the next delivery, or to the end. A timer that is set anew is no longer readable.
func (f *Forwarder) arm(until time.Duration) error {
	next := until
	if len(f.waits) > 0 {
		next = min(next, f.waits[0].at)
	}
	value := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(next + f.zero))}
	if err := unix.TimerfdSettime(f.timer, unix.TFD_TIMER_ABSTIME, &value, nil); err != nil {
		return fmt.Errorf("set the timer: %w", err)
	}
	return nil
}

func (f *Forwarder) receive(socket int, from end, now time.Duration) error {
	buffer := make([]byte, frameBytes)
	for {
		length, _, err := unix.Recvfrom(socket, buffer, unix.MSG_TRUNC)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("lane %q: receive: %w", from.lane.traffic.Name, err)
		}
		if length > frameBytes {
			return fmt.Errorf("lane %q: a frame of %d bytes: segmentation is not off", from.lane.traffic.Name, length)
		}
		count := from.lane.count(from.direction)
		count.Packets++
		count.Bytes += length
		at, passes := from.lane.path.Send(now, from.direction)
		if !passes {
			count.Lost++
			continue
		}
		f.number++
		heap.Push(&f.waits, frame{
			at: at, number: f.number, to: end{from.lane, 1 - from.direction},
			data: append([]byte(nil), buffer[:length]...),
		})
	}
}

func (o *one) count(direction path.Direction) *lane.Count {
	if direction == path.Up {
		return &o.traffic.Up
	}
	return &o.traffic.Down
}

func (f *Forwarder) deliver(now time.Duration) error {
	for len(f.waits) > 0 && f.waits[0].at <= now {
		next, _ := heap.Pop(&f.waits).(frame)
		if err := unix.Send(next.to.lane.sockets[next.to.direction], next.data, 0); err != nil {
			return fmt.Errorf("lane %q: send: %w", next.to.lane.traffic.Name, err)
		}
	}
	return nil
}

// Traffic returns what every lane has carried.
func (f *Forwarder) Traffic() []lane.Traffic {
	all := make([]lane.Traffic, 0, len(f.lanes))
	for _, each := range f.lanes {
		all = append(all, each.traffic)
	}
	return all
}

type frame struct {
	at     time.Duration
	number uint64
	to     end
	data   []byte
}

// waiting is a heap of frames by the moment of their delivery; those of one moment in the order in which they came.
type waiting []frame

func (w waiting) Len() int { return len(w) }

func (w waiting) Less(i, j int) bool {
	if w[i].at != w[j].at {
		return w[i].at < w[j].at
	}
	return w[i].number < w[j].number
}

func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }

func (w *waiting) Push(x any) {
	if one, is := x.(frame); is {
		*w = append(*w, one)
	}
}

func (w *waiting) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}
