// SPDX-License-Identifier: Apache-2.0

// Package stream is one bidirectional gRPC stream on an HTTP/2 connection of its own, the client's side, as bytes in
// and bytes out. It opens no socket: a load generator with ten thousand connections cannot afford grpc-go's 70 KiB and
// three goroutines for each.
//
// Of HTTP/2 (RFC 9113) it has what one stream needs: settings, flow control in both directions, pings, trailers.
package stream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	frameHeaderBytes = 9
	// streamID of the only stream; the first that a client may open.
	streamID = 1
	// windowBytes is HTTP/2's initial window. We announce no other: commands are small.
	windowBytes = 65535
	// windowMax is the largest window that flow control allows.
	windowMax = 1<<31 - 1
	// frameBytesMax is the largest payload that either side may send: HTTP/2's default, and we announce no other.
	frameBytesMax = 16384
	// messagePrefixBytes come before each gRPC message: a flag for compression and the length.
	messagePrefixBytes = 5
	// messageBytesMax bounds what a server can make us keep. A set of 256 bounds has 10 kB.
	messageBytesMax = 1 << 20
	// headerBytesMax bounds a header block with its continuations.
	headerBytesMax = 1 << 16
)

// EndError is why a stream ended: the server's status, or what broke the connection.
type EndError struct {
	// Code is gRPC's status code; -1 if the connection ended without one.
	Code int
	// Message is for people.
	Message string
}

// Error names the status and its message.
func (e *EndError) Error() string {
	if e.Code < 0 {
		return e.Message
	}
	return fmt.Sprintf("status %d: %s", e.Code, e.Message)
}

func broken(format string, values ...any) error {
	return &EndError{Code: -1, Message: fmt.Sprintf(format, values...)}
}

// Schemes of HTTP/2: in plain text, and over TLS.
const (
	Plain  = "http"
	Secure = "https"
)

// Opening is what a client sends first: preface, settings, and the headers that call method at authority. It is the
// same for each connection, since each has a header table of its own.
func Opening(scheme, method, authority string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range []hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: scheme},
		{Name: ":path", Value: method},
		{Name: ":authority", Value: authority},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "user-agent", Value: "airbound-load"},
		{Name: "te", Value: "trailers"},
	} {
		// A bytes.Buffer takes everything.
		_ = encoder.WriteField(field)
	}
	opening := []byte(http2.ClientPreface)
	opening = appendFrame(opening, http2.FrameSettings, 0, 0, setting(http2.SettingEnablePush, 0))
	return appendFrame(opening, http2.FrameHeaders, http2.FlagHeadersEndHeaders, streamID, block.Bytes())
}

// Stream is the state of a connection after Opening was sent. It is not safe for use by several goroutines.
type Stream struct {
	// Ready is true once the server's settings arrived.
	Ready bool

	// What may be sent: HTTP/2's windows, and gRPC bytes that wait for them.
	connectionWindow, streamWindow, initialWindow int64
	waiting                                       []byte

	// What was received of an incomplete frame, header block or message; bytes received since the last window update.
	partial    []byte
	headers    []byte
	endHeaders bool // the header block ends the stream
	inHeaders  bool
	message    []byte
	unreturned uint32
	decoder    *hpack.Decoder
	ended      error
}

// New is the state right after Opening was sent.
func New() *Stream {
	return &Stream{connectionWindow: windowBytes, streamWindow: windowBytes, initialWindow: windowBytes}
}

// WaitingBytes is how much was given to Send and waits for flow control.
func (s *Stream) WaitingBytes() int { return len(s.waiting) }

// Send appends the frames of one message to out; what flow control does not allow yet follows from Receive.
func (s *Stream) Send(out, message []byte) []byte {
	size := messagePrefixBytes + len(message)
	if len(s.waiting) == 0 && size <= frameBytesMax && int64(size) <= min(s.connectionWindow, s.streamWindow) {
		out = appendFrameHeader(out, size, http2.FrameData, 0, streamID)
		out = appendPrefix(out, len(message))
		s.connectionWindow -= int64(size)
		s.streamWindow -= int64(size)
		return append(out, message...)
	}
	s.waiting = append(appendPrefix(s.waiting, len(message)), message...)
	return s.flush(out)
}

func (s *Stream) flush(out []byte) []byte {
	for len(s.waiting) > 0 {
		size := int(min(int64(len(s.waiting)), frameBytesMax, s.connectionWindow, s.streamWindow))
		if size <= 0 {
			return out
		}
		out = appendFrame(out, http2.FrameData, 0, streamID, s.waiting[:size])
		s.connectionWindow -= int64(size)
		s.streamWindow -= int64(size)
		s.waiting = s.waiting[size:]
	}
	s.waiting = nil
	return out
}

// Receive takes bytes from the server, calls deliver for each message (valid during the call) and appends to out what
// must be sent in answer. Its error is an *EndError: the stream has ended, and stays so.
func (s *Stream) Receive(out, received []byte, deliver func(message []byte)) ([]byte, error) {
	if s.ended != nil {
		return out, s.ended
	}
	data := received
	if len(s.partial) > 0 {
		s.partial = append(s.partial, received...)
		data = s.partial
	}
	for len(data) >= frameHeaderBytes {
		size := int(data[0])<<16 | int(data[1])<<8 | int(data[2])
		if size > frameBytesMax {
			return out, s.end(broken("the server sent a frame of %d bytes", size))
		}
		if len(data) < frameHeaderBytes+size {
			break
		}
		id := binary.BigEndian.Uint32(data[5:]) & windowMax
		var err error
		payload := data[frameHeaderBytes : frameHeaderBytes+size]
		out, err = s.frame(out, http2.FrameType(data[3]), http2.Flags(data[4]), id, payload, deliver)
		if err != nil {
			return out, s.end(err)
		}
		data = data[frameHeaderBytes+size:]
	}
	if len(data) == 0 {
		s.partial = nil
	} else {
		s.partial = append([]byte(nil), data...)
	}
	return s.returnWindow(out), nil
}

func (s *Stream) end(err error) error {
	s.ended = err
	s.partial, s.headers, s.message, s.waiting = nil, nil, nil, nil
	return err
}

func (s *Stream) frame(
	out []byte, kind http2.FrameType, flags http2.Flags, id uint32, payload []byte, deliver func([]byte),
) ([]byte, error) {
	if s.inHeaders && kind != http2.FrameContinuation {
		return out, broken("the server sent %v within a header block", kind)
	}
	switch kind {
	case http2.FrameData:
		return out, s.data(flags, payload, deliver)
	case http2.FrameHeaders:
		return out, s.beginHeaders(flags, payload)
	case http2.FrameContinuation:
		if !s.inHeaders {
			return out, broken("the server sent CONTINUATION outside of a header block")
		}
		return out, s.continueHeaders(flags, payload)
	case http2.FrameSettings:
		return s.settings(out, flags, payload)
	case http2.FrameWindowUpdate:
		return s.windowUpdate(out, id, payload)
	case http2.FramePing:
		if flags.Has(http2.FlagPingAck) || len(payload) != 8 {
			return out, nil
		}
		return appendFrame(out, http2.FramePing, http2.FlagPingAck, 0, payload), nil
	case http2.FrameRSTStream:
		if len(payload) != 4 {
			return out, broken("the server sent a malformed RST_STREAM")
		}
		return out, broken("the server reset the stream: %v", http2.ErrCode(binary.BigEndian.Uint32(payload)))
	case http2.FrameGoAway:
		return out, goAway(payload)
	default: // what is unknown is ignored (RFC 9113, 4.1); PRIORITY does not matter to a client
		return out, nil
	}
}

// goAway ends the stream only if the server is not willing to finish it.
func goAway(payload []byte) error {
	if len(payload) < 8 {
		return broken("the server sent a malformed GOAWAY")
	}
	last, code := binary.BigEndian.Uint32(payload)&windowMax, http2.ErrCode(binary.BigEndian.Uint32(payload[4:]))
	if last >= streamID && code == http2.ErrCodeNo {
		return nil
	}
	return broken("the server goes away: %v %s", code, payload[8:])
}

// data takes a DATA frame. Its whole payload counts for flow control, padding included.
func (s *Stream) data(flags http2.Flags, payload []byte, deliver func([]byte)) error {
	s.unreturned += uint32(len(payload)) //nolint:gosec // a frame has at most frameBytesMax bytes
	payload, err := unpadded(flags.Has(http2.FlagDataPadded), payload)
	if err != nil {
		return err
	}
	if len(s.message) > 0 {
		s.message = append(s.message, payload...)
		payload = s.message
	}
	for len(payload) >= messagePrefixBytes {
		size := binary.BigEndian.Uint32(payload[1:])
		if payload[0] != 0 || size > messageBytesMax {
			return broken("the server sent a message of %d bytes, compression %d", size, payload[0])
		}
		end := messagePrefixBytes + int(size)
		if len(payload) < end {
			break
		}
		deliver(payload[messagePrefixBytes:end])
		payload = payload[end:]
	}
	if len(payload) == 0 {
		s.message = nil
	} else {
		s.message = append([]byte(nil), payload...)
	}
	if flags.Has(http2.FlagDataEndStream) {
		return broken("the server ended the stream without a status")
	}
	return nil
}

func (s *Stream) beginHeaders(flags http2.Flags, payload []byte) error {
	payload, err := unpadded(flags.Has(http2.FlagHeadersPadded), payload)
	if err != nil {
		return err
	}
	if flags.Has(http2.FlagHeadersPriority) {
		if len(payload) < 5 {
			return broken("the server sent malformed HEADERS")
		}
		payload = payload[5:]
	}
	s.inHeaders, s.endHeaders, s.headers = true, flags.Has(http2.FlagHeadersEndStream), nil
	return s.continueHeaders(flags, payload)
}

func (s *Stream) continueHeaders(flags http2.Flags, payload []byte) error {
	s.headers = append(s.headers, payload...)
	if len(s.headers) > headerBytesMax {
		return broken("the server sent headers of more than %d bytes", headerBytesMax)
	}
	if !flags.Has(http2.FlagHeadersEndHeaders) {
		return nil
	}
	if s.decoder == nil {
		s.decoder = hpack.NewDecoder(4096, nil)
		s.decoder.SetMaxStringLength(headerBytesMax)
	}
	fields, err := s.decoder.DecodeFull(s.headers)
	if err != nil {
		return broken("the server sent headers that cannot be decoded: %v", err)
	}
	s.inHeaders, s.headers = false, nil
	if s.endHeaders {
		return status(fields)
	}
	return nil
}

// status makes the end of a stream from its trailers.
func status(fields []hpack.HeaderField) error {
	end := EndError{Code: -1, Message: "the server ended the stream without a status"}
	for _, field := range fields {
		switch field.Name {
		case "grpc-status":
			if _, err := fmt.Sscanf(field.Value, "%d", &end.Code); err != nil {
				return broken("the server sent status %q", field.Value)
			}
			end.Message = ""
		case ":status":
			if field.Value != "200" {
				end.Message = "the server answered with HTTP status " + field.Value
			}
		}
	}
	if end.Code < 0 {
		return &end
	}
	if i := slices.IndexFunc(fields, func(f hpack.HeaderField) bool { return f.Name == "grpc-message" }); i >= 0 {
		end.Message = fields[i].Value
	}
	return &end
}

func (s *Stream) settings(out []byte, flags http2.Flags, payload []byte) ([]byte, error) {
	if flags.Has(http2.FlagSettingsAck) {
		return out, nil
	}
	if len(payload)%6 != 0 {
		return out, broken("the server sent malformed SETTINGS")
	}
	for ; len(payload) > 0; payload = payload[6:] {
		value := int64(binary.BigEndian.Uint32(payload[2:]))
		// Larger frames than the default we need not send, and our only header block is sent.
		if http2.SettingID(binary.BigEndian.Uint16(payload)) == http2.SettingInitialWindowSize {
			if value > windowMax {
				return out, broken("the server sent an initial window of %d bytes", value)
			}
			s.streamWindow += value - s.initialWindow
			s.initialWindow = value
			if s.streamWindow > windowMax {
				return out, broken("the server opened the stream's window too far")
			}
		}
	}
	s.Ready = true
	return s.flush(appendFrame(out, http2.FrameSettings, http2.FlagSettingsAck, 0, nil)), nil
}

func (s *Stream) windowUpdate(out []byte, id uint32, payload []byte) ([]byte, error) {
	if len(payload) != 4 {
		return out, broken("the server sent a malformed WINDOW_UPDATE")
	}
	increment := int64(binary.BigEndian.Uint32(payload) & windowMax)
	window := &s.streamWindow
	if id == 0 {
		window = &s.connectionWindow
	}
	*window += increment
	if *window > windowMax {
		return out, broken("the server opened a window too far")
	}
	return s.flush(out), nil
}

// returnWindow gives the server its window back once half of it is used.
func (s *Stream) returnWindow(out []byte) []byte {
	if s.unreturned < windowBytes/2 {
		return out
	}
	increment := binary.BigEndian.AppendUint32(nil, s.unreturned)
	s.unreturned = 0
	out = appendFrame(out, http2.FrameWindowUpdate, 0, 0, increment)
	return appendFrame(out, http2.FrameWindowUpdate, 0, streamID, increment)
}

func unpadded(padded bool, payload []byte) ([]byte, error) {
	if !padded {
		return payload, nil
	}
	if len(payload) == 0 || int(payload[0]) >= len(payload) {
		return nil, broken("the server sent a frame with more padding than it has bytes")
	}
	return payload[1 : len(payload)-int(payload[0])], nil
}

func setting(id http2.SettingID, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(nil, uint16(id)), value)
}

func appendFrame(out []byte, kind http2.FrameType, flags http2.Flags, id uint32, payload []byte) []byte {
	return append(appendFrameHeader(out, len(payload), kind, flags, id), payload...)
}

func appendFrameHeader(out []byte, size int, kind http2.FrameType, flags http2.Flags, id uint32) []byte {
	out = append(out, byte(size>>16), byte(size>>8), byte(size), byte(kind), byte(flags)) //nolint:gosec // 24 bits
	return binary.BigEndian.AppendUint32(out, id)
}

func appendPrefix(out []byte, size int) []byte {
	return binary.BigEndian.AppendUint32(append(out, 0), uint32(size)) //nolint:gosec // reports have kilobytes
}
