// SPDX-License-Identifier: Apache-2.0

// Package hostapdtest is a fake hostapd: a control socket and stations, but no radio. It interprets commands as hostapd
// 2.10 does.
package hostapdtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// fullAfter is how long a write waits when the queue is full for good.
const fullAfter = 100 * time.Millisecond

// Server is one hostapd process that serves one network interface. Its methods are safe for concurrent use.
type Server struct {
	networkInterface string
	path             string
	conn             *net.UnixConn
	ended            chan struct{}

	mu       sync.Mutex
	stations []station
	monitors []*net.UnixAddr
	attached int
	listed   int
	mute     bool
	listless bool
	leaving  int
	answers  map[string]string
	radio    *radio
}

type station struct {
	mac        string
	authorized bool
}

// New makes a server that does not listen yet: what is set before Listen is in force for the first command.
func New(networkInterface string, stations ...string) *Server {
	s := &Server{networkInterface: networkInterface, ended: make(chan struct{})}
	s.radio = newRadio(s)
	for _, mac := range stations {
		s.add(station{mac: mac, authorized: true})
	}
	return s
}

// Listen creates the control socket at path, once.
func (s *Server) Listen(path string) error {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("listen on control socket: %w", err)
	}
	s.path, s.conn = path, conn
	go s.serve()
	return nil
}

// Start creates the control socket at path, with stations that have joined before.
func Start(path, networkInterface string, stations ...string) (*Server, error) {
	s := New(networkInterface, stations...)
	if err := s.Listen(path); err != nil {
		return nil, err
	}
	return s, nil
}

// Join associates and authorizes a station and sends the event.
func (s *Server) Join(mac string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(station{mac: mac, authorized: true})
	s.event("AP-STA-CONNECTED " + mac)
}

// JoinSilently is a Join whose event is lost.
func (s *Server) JoinSilently(mac string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(station{mac: mac, authorized: true})
}

// Associate associates a station that has no keys yet.
func (s *Server) Associate(mac string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(station{mac: mac})
}

// Leave removes a station and sends the event.
func (s *Server) Leave(mac string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(mac)
	s.event("AP-STA-DISCONNECTED " + mac)
}

// LeaveWhenListed removes the next so many stations, without events, as soon as a list has reached them.
func (s *Server) LeaveWhenListed(stations int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = stations
}

// Send sends raw bytes to every attached client.
func (s *Server) Send(datagram string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send(datagram)
}

// RefuseLists makes the server answer STA-FIRST and STA-NEXT as a hostapd built without CONFIG_CTRL_IFACE_MIB does.
func (s *Server) RefuseLists() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listless = true
}

// Answer makes the server answer a command, by its first word, with this text.
func (s *Server) Answer(command, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil {
		s.answers = map[string]string{}
	}
	s.answers[command] = answer
}

// AnswerAsUsual ends what Answer began.
func (s *Server) AnswerAsUsual(command string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.answers, command)
}

// Stations counts the stations of the list.
func (s *Server) Stations() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.stations)
}

// Mute makes the server read commands and reply to none.
func (s *Server) Mute() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = true
}

// Freeze makes the server stop reading, and fills its queue: every further write to it waits, as to a process that was
// stopped for long.
func (s *Server) Freeze() error {
	if err := s.conn.SetReadDeadline(time.Now()); err != nil {
		return fmt.Errorf("stop reading: %w", err)
	}
	<-s.ended
	peer, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("connect to own socket: %w", err)
	}
	defer func() { _ = peer.Close() }()
	for err == nil {
		if err = peer.SetWriteDeadline(time.Now().Add(fullAfter)); err == nil {
			_, err = peer.Write([]byte("PING"))
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("fill own queue: %w", err)
	}
	return nil
}

// Attached counts the ATTACH commands so far.
func (s *Server) Attached() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attached
}

// Listed counts the station lists that were walked to their end.
func (s *Server) Listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// Monitors counts the clients that are attached now.
func (s *Server) Monitors() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.monitors)
}

// Terminate ends the server as SIGTERM ends hostapd: it sends the event and removes its socket.
func (s *Server) Terminate() error {
	s.mu.Lock()
	s.event("CTRL-EVENT-TERMINATING ")
	s.mu.Unlock()
	return s.Kill()
}

// Kill ends the server without an event.
func (s *Server) Kill() error {
	err := s.conn.Close()
	<-s.ended
	if removeErr := os.Remove(s.path); !errors.Is(removeErr, os.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	if err != nil {
		return fmt.Errorf("end hostapd: %w", err)
	}
	return nil
}

func (s *Server) serve() {
	defer close(s.ended)
	buffer := make([]byte, 4096)
	for {
		n, from, err := s.conn.ReadFromUnix(buffer)
		if err != nil {
			return
		}
		s.mu.Lock()
		if reply := s.reply(string(buffer[:n]), from); !s.mute {
			// A client that is gone gets no reply; hostapd ignores that as well.
			_, _ = s.conn.WriteToUnix([]byte(reply), from)
		}
		s.mu.Unlock()
	}
}

func (s *Server) reply(command string, from *net.UnixAddr) string {
	name, argument, _ := strings.Cut(command, " ")
	if s.listless && strings.HasPrefix(name, "STA-") {
		return "UNKNOWN COMMAND\n"
	}
	if answer, set := s.answers[name]; set {
		return answer
	}
	switch name {
	case "PING":
		return "PONG\n"
	case "ATTACH":
		s.attached++
		s.monitors = append(s.monitors, from)
		return "OK\n"
	case "DETACH":
		isSender := func(monitor *net.UnixAddr) bool { return monitor.Name == from.Name }
		if !slices.ContainsFunc(s.monitors, isSender) {
			return "FAIL\n"
		}
		s.monitors = slices.DeleteFunc(s.monitors, isSender)
		return "OK\n"
	case "STATUS":
		var text strings.Builder
		text.WriteString("state=ENABLED\nphy=phy0\nfreq=2437\n")
		for i, name := range s.radio.interfaces() {
			fmt.Fprintf(&text, "bss[%d]=%s\nbssid[%d]=02:00:00:00:00:0%d\nssid[%d]=cell\nnum_sta[%d]=%d\n",
				i, name, i, i, i, i, len(s.stations))
		}
		return text.String()
	case "SET":
		return s.radio.set(s, argument)
	case "STA-FIRST":
		return s.entry(0)
	case "STA-NEXT":
		i := s.index(argument)
		if i < 0 {
			return "FAIL\n"
		}
		return s.entry(i + 1)
	default:
		return "UNKNOWN COMMAND\n"
	}
}

// entry is empty at the end of the list.
func (s *Server) entry(i int) string {
	if i >= len(s.stations) {
		s.listed++
		return ""
	}
	mac, flags := s.stations[i].mac, "[AUTH][ASSOC]"
	if s.stations[i].authorized {
		flags += "[AUTHORIZED]"
	}
	if s.leaving > 0 {
		s.leaving--
		s.remove(mac)
	}
	return fmt.Sprintf("%s\nflags=%s\naid=1\ncapability=0x401\nlisten_interval=5\nsupported_rates=0c 12 18 24\n"+
		"timeout_next=NULLFUNC POLL\nrx_packets=10\ntx_packets=10\nconnected_time=1\n", mac, flags)
}

// add puts a station at the head of the list, as hostapd does.
func (s *Server) add(newcomer station) {
	s.remove(newcomer.mac)
	s.stations = slices.Insert(s.stations, 0, newcomer)
}

func (s *Server) remove(mac string) {
	if i := s.index(mac); i >= 0 {
		s.stations = slices.Delete(s.stations, i, i+1)
	}
}

func (s *Server) index(mac string) int {
	return slices.IndexFunc(s.stations, func(each station) bool { return each.mac == mac })
}

func (s *Server) event(text string) { s.send("<3>" + text) }

func (s *Server) send(datagram string) {
	for _, monitor := range s.monitors {
		_, _ = s.conn.WriteToUnix([]byte(datagram), monitor)
	}
}
