// SPDX-License-Identifier: Apache-2.0

package stream_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/airbound/airbound/lab/load/stream"
)

type rawBytes []byte

// rawCodec leaves messages as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) {
	if message, ok := v.(*rawBytes); ok {
		return *message, nil
	}
	return nil, errors.New("no bytes")
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	if message, ok := v.(*rawBytes); ok {
		*message = bytes.Clone(data)
		return nil
	}
	return errors.New("no bytes")
}

func (rawCodec) Name() string { return "raw" }

func serve(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}),
		grpc.InitialWindowSize(64<<10), grpc.InitialConnWindowSize(64<<10))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Echo", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: "Connect", Handler: echoHandler, ServerStreams: true, ClientStreams: true,
		}},
	}, nil)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// echoHandler returns each message, and fails at one that begins with "fail ".
func echoHandler(_ any, stream grpc.ServerStream) error {
	for {
		var message rawBytes
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		if text := string(message); strings.HasPrefix(text, "fail ") {
			return status.Error(codes.ResourceExhausted, text[5:])
		}
		if err := stream.SendMsg(&message); err != nil {
			return err
		}
	}
}

// client drives a stream over a socket, as the fleet does.
type client struct {
	t        *testing.T
	conn     net.Conn
	stream   *stream.Stream
	received [][]byte
}

func dial(t *testing.T, address, method string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, conn: conn, stream: stream.New()}
	c.write(stream.Opening(stream.Plain, method, address))
	return c
}

func (c *client) write(data []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(data); err != nil {
		c.t.Fatal(err)
	}
}

// receive reads once.
func (c *client) receive() error {
	buffer := make([]byte, 1000)
	n, err := c.conn.Read(buffer)
	if err != nil {
		return err
	}
	out, err := c.stream.Receive(nil, buffer[:n], func(message []byte) {
		c.received = append(c.received, bytes.Clone(message))
	})
	c.write(out)
	return err
}

func TestMessagesOfAllSizesComeBackFromARealServer(t *testing.T) {
	c := dial(t, serve(t), "/test.Echo/Connect")
	var sent [][]byte
	random := rand.New(rand.NewPCG(1, 2))
	// In all three times the windows, with one message larger than each of them.
	for _, size := range []int{0, 1, 100, 16379, 16380, 40_000, 100_000, 5, 20_000} {
		message := make([]byte, size)
		for i := range message {
			message[i] = byte(random.Uint32())
		}
		sent = append(sent, message)
		c.write(c.stream.Send(nil, message))
	}
	for len(c.received) < len(sent) {
		if err := c.receive(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.EqualFunc(sent, c.received, bytes.Equal) {
		t.Error("something else came back")
	}
	if c.stream.WaitingBytes() != 0 || !c.stream.Ready {
		t.Errorf("%d bytes wait, ready %v", c.stream.WaitingBytes(), c.stream.Ready)
	}
}

func TestTheServersStatusIsTheEnd(t *testing.T) {
	tests := map[string]struct {
		method, message string
		code            codes.Code
		text            string
	}{
		"ended by the handler": {"/test.Echo/Connect", "fail too many", codes.ResourceExhausted, "too many"},
		"no such method":       {"/test.Echo/Nothing", "x", codes.Unimplemented, "unknown method"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := dial(t, serve(t), test.method)
			c.write(c.stream.Send(nil, []byte(test.message)))
			var err error
			for err == nil {
				err = c.receive()
			}
			var end *stream.EndError
			if !errors.As(err, &end) || end.Code != int(test.code) || !strings.Contains(end.Error(), test.text) {
				t.Errorf("ended with %v", err)
			}
			if _, again := c.stream.Receive(nil, nil, nil); !errors.Is(again, err) {
				t.Errorf("and then with %v", again)
			}
		})
	}
}

// frames writes what a server could send.
func frames(tb testing.TB, write func(*http2.Framer)) []byte {
	tb.Helper()
	var buffer bytes.Buffer
	write(http2.NewFramer(&buffer, nil))
	return buffer.Bytes()
}

func headerBlock(fields ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return block.Bytes()
}

func grpcMessage(text string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text))), text...)
}

// conversation is everything that a server may send, in one piece.
func conversation(tb testing.TB) []byte {
	tb.Helper()
	return frames(tb, func(f *http2.Framer) {
		_ = f.WriteSettings(
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20},
			http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1},
		)
		_ = f.WriteSettingsAck()
		_ = f.WriteWindowUpdate(0, 1<<20)
		_ = f.WritePing(false, [8]byte{1, 2, 3})
		block := headerBlock(":status", "200", "content-type", "application/grpc")
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:3], PadLength: 4})
		_ = f.WriteContinuation(1, true, block[3:])
		both := append(grpcMessage("first"), grpcMessage("second")...)
		_ = f.WriteDataPadded(1, false, both[:8], []byte{0, 0})
		_ = f.WriteData(1, false, both[8:])
		_ = f.WriteGoAway(1, http2.ErrCodeNo, []byte("soon"))
		_ = f.WriteRawFrame(0x77, 0, 0, []byte("unknown"))
		_ = f.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 1, EndHeaders: true, EndStream: true,
			BlockFragment: headerBlock("grpc-status", "14", "grpc-message", "stopping"),
		})
	})
}

func play(pieces [][]byte) (messages []string, out []byte, err error) {
	s := stream.New()
	for _, piece := range pieces {
		out, err = s.Receive(out, piece, func(message []byte) { messages = append(messages, string(message)) })
		if err != nil {
			return messages, out, err
		}
	}
	return messages, out, nil
}

func TestAWholeConversation(t *testing.T) {
	messages, out, err := play([][]byte{conversation(t)})
	if !slices.Equal(messages, []string{"first", "second"}) {
		t.Errorf("messages are %q", messages)
	}
	if err == nil || err.Error() != "status 14: stopping" {
		t.Errorf("ended with %v", err)
	}
	framer := http2.NewFramer(io.Discard, bytes.NewReader(out))
	var kinds []http2.FrameType
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			break
		}
		kinds = append(kinds, frame.Header().Type)
	}
	if !slices.Equal(kinds, []http2.FrameType{http2.FrameSettings, http2.FramePing}) {
		t.Errorf("answered with %v", kinds)
	}
}

func TestWhatAServerMustNotSendEndsTheStream(t *testing.T) {
	tests := map[string]struct {
		write func(*http2.Framer)
		says  string
	}{
		"reset": {func(f *http2.Framer) {
			_ = f.WriteRSTStream(1, http2.ErrCodeEnhanceYourCalm)
		}, "ENHANCE_YOUR_CALM"},
		"goes away": {func(f *http2.Framer) {
			_ = f.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings"))
		}, "too_many_pings"},
		"compression":     {func(f *http2.Framer) { _ = f.WriteData(1, false, []byte{1, 0, 0, 0, 0}) }, "compression"},
		"message too big": {func(f *http2.Framer) { _ = f.WriteData(1, false, []byte{0, 255, 0, 0, 0}) }, "message of"},
		"data ends":       {func(f *http2.Framer) { _ = f.WriteData(1, true, nil) }, "without a status"},
		"window":          {func(f *http2.Framer) { _ = f.WriteWindowUpdate(0, 1<<31-1) }, "too far"},
		"HTTP status": {func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, EndHeaders: true, EndStream: true, BlockFragment: headerBlock(":status", "502"),
			})
		}, "502"},
		"header block": {func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, EndHeaders: true, BlockFragment: []byte{0xff, 0xff, 0xff},
			})
		}, "decoded"},
		"within headers": {func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headerBlock(":status", "200")})
			_ = f.WritePing(false, [8]byte{})
		}, "header block"},
		"frame size": {func(f *http2.Framer) {
			_ = f.WriteRawFrame(http2.FrameData, 0, 1, make([]byte, 16385))
		}, "frame of 16385"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := play([][]byte{frames(t, test.write)})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// FuzzReceive: whatever comes, in whatever pieces, the result is that of one piece.
func FuzzReceive(f *testing.F) {
	f.Add(conversation(f), uint64(1))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), uint64(2))
	f.Add(frames(f, func(f *http2.Framer) { _ = f.WriteData(1, false, grpcMessage("x")) }), uint64(3))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		whole, wholeOut, wholeErr := play([][]byte{data})
		random := rand.New(rand.NewPCG(seed, 0))
		var pieces [][]byte
		for rest := data; len(rest) > 0; {
			size := 1 + random.IntN(len(rest))
			pieces, rest = append(pieces, rest[:size]), rest[size:]
		}
		parts, partsOut, partsErr := play(pieces)
		if !slices.Equal(whole, parts) {
			t.Errorf("messages %q, in pieces %q", whole, parts)
		}
		if (wholeErr == nil) != (partsErr == nil) || wholeErr != nil && wholeErr.Error() != partsErr.Error() {
			t.Errorf("%v, in pieces %v", wholeErr, partsErr)
		}
		// Window updates may come in other sizes.
		if wholeErr == nil && len(data) < 30_000 && !bytes.Equal(wholeOut, partsOut) {
			t.Errorf("answers %x, in pieces %x", wholeOut, partsOut)
		}
	})
}
