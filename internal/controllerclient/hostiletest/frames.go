// SPDX-License-Identifier: Apache-2.0

package hostiletest

import (
	"encoding/binary"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
)

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Frames of HTTP/2 (RFC 9113, 6).
const (
	data         = 0
	headers      = 1
	rstStream    = 3
	settings     = 4
	pushPromise  = 5
	ping         = 6
	goAway       = 7
	windowUpdate = 8
	continuation = 9
	kinds        = 10

	ack        = 1
	endStream  = 1
	endHeaders = 4

	frameOctetsMax = 16_384
)

// frame makes a frame; a length beyond 24 bits is not checked.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	made := make([]byte, 0, 9+len(payload))
	made = binary.BigEndian.AppendUint32(made, uint32(len(payload)<<8)) //nolint:gosec // three octets of it
	made = append(made[:3], kind, flags)
	return append(binary.BigEndian.AppendUint32(made, stream), payload...)
}

// accepted are the frames with which a server accepts a call: its settings, what acknowledges the client's, and
// `:status: 200` with gRPC's content type.
func accepted() []byte {
	block := append([]byte{0x88, 0x5f, 16}, "application/grpc"...)
	return slices.Concat(
		frame(settings, 0, 0, nil), frame(settings, ack, 0, nil), frame(headers, endHeaders, 1, block),
	)
}

// message is a gRPC message in frames.
func message(octets []byte) []byte {
	whole := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(octets))), octets...) //nolint:gosec // short
	var made []byte
	for part := range slices.Chunk(whole, frameOctetsMax) {
		made = append(made, frame(data, 0, 1, part)...)
	}
	return made
}

// octets draws what one connection writes, piece by piece.
func (c Config) octets(dice *rand.Rand) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		good := accepted()
		if !c.OnlyCommands && dice.IntN(4) == 0 {
			yield(odd(dice))
			return
		}
		if !yield(good) {
			return
		}
		for range dice.IntN(c.Commands + 1) {
			if !c.OnlyCommands && dice.IntN(8) == 0 && !yield(odd(dice)) {
				return
			}
			octets := message(c.Command(dice))
			if !c.OnlyCommands && dice.IntN(16) == 0 {
				yield(octets[:dice.IntN(len(octets)+1)])
				return
			}
			if !yield(octets) {
				return
			}
		}
	}
}

// odd draws what no server should send.
func odd(dice *rand.Rand) []byte {
	stream := []uint32{0, 1, 1, 1, 2, 3, math.MaxUint32}[dice.IntN(7)]
	number := []uint32{0, 1, frameOctetsMax, math.MaxInt32, math.MaxUint32}[dice.IntN(5)]
	word := binary.BigEndian.AppendUint32(nil, number)
	junk := random(dice, []int{0, 1, 5, 6, 8, 300}[dice.IntN(6)])
	setting := binary.BigEndian.AppendUint32(
		binary.BigEndian.AppendUint16(nil, uint16(dice.IntN(10))), number) //nolint:gosec // below 10
	count := 1 + dice.IntN(500)
	switch dice.IntN(22) {
	case 0:
		return random(dice, 1+dice.IntN(5_000))
	case 1:
		return []byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
	case 2:
		good := accepted()
		return good[:dice.IntN(len(good))]
	case 3:
		good := accepted()
		good[dice.IntN(len(good))] ^= 1 << dice.IntN(8)
		return good
	case 4:
		return frame(byte(dice.IntN(256)), byte(dice.IntN(256)), stream, junk) //nolint:gosec // below 256
	case 5: // A length of another frame.
		made := frame(byte(dice.IntN(kinds)), 0, stream, junk)        //nolint:gosec // below 10
		made[0], made[1] = byte(dice.IntN(256)), byte(dice.IntN(256)) //nolint:gosec // below 256
		return made
	case 6:
		return slices.Concat(frame(settings, 0, 0, slices.Repeat(setting, 1+dice.IntN(5))), accepted())
	case 7:
		return frame(settings, byte(dice.IntN(2)), stream, junk) //nolint:gosec // below 2
	case 8:
		return slices.Repeat(frame(settings, 0, 0, setting), count)
	case 9:
		return slices.Repeat(frame(ping, 0, 0, make([]byte, 8)), count)
	case 10:
		return frame(goAway, 0, 0, slices.Concat(word, word, junk))
	case 11:
		return frame(rstStream, 0, stream, word)
	case 12:
		return slices.Repeat(frame(windowUpdate, 0, stream, word), 1+dice.IntN(3))
	case 13:
		return frame(pushPromise, endHeaders, 1, slices.Concat(word, junk))
	case 14:
		return frame(headers, endHeaders, stream, junk)
	case 15: // A block without an end.
		fields := slices.Repeat([]byte("\x00\x03abc\x04defg"), 1_000)
		return slices.Concat(
			frame(headers, 0, 1, []byte{0x88}), slices.Repeat(frame(continuation, 0, 1, fields), 20))
	case 16: // A message that is claimed and does not come, or is longer than any may be.
		prefix := append([]byte{[]byte{0, 1, 2}[dice.IntN(3)]}, word...)
		return slices.Concat(accepted(), frame(data, 0, 1, prefix), frame(data, 0, 1, junk))
	case 17:
		return slices.Concat(accepted(), message(make([]byte, 2<<20)))
	case 18: // Answers without end.
		return slices.Concat(accepted(), slices.Repeat(message(nil), 10*count))
	case 19: // Trailers with a status; of those that deny an agent it would wait long.
		status := []string{"0", "2", "8", "14", "99", "-1", "x", ""}[dice.IntN(8)]
		block := append([]byte("\x00\x0bgrpc-status"), byte(len(status))) //nolint:gosec // short
		return slices.Concat(accepted(), frame(headers, endHeaders|endStream, 1, append(block, status...)))
	case 20:
		return slices.Concat(accepted(), message(random(dice, dice.IntN(200))))
	default:
		return frame(data, byte(dice.IntN(16)), stream, junk) //nolint:gosec // below 16
	}
}

func random(dice *rand.Rand, length int) []byte {
	made := make([]byte, length)
	for i := range made {
		made[i] = byte(dice.Uint32()) //nolint:gosec // the low octet
	}
	return made
}
