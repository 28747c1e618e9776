// SPDX-License-Identifier: Apache-2.0

package hostiletest

import (
	"math"
	"math/rand/v2"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// depthMax ends messages in messages, entriesMax is of one list.
const (
	depthMax   = 5
	entriesMax = 4
)

// Fill gives a message any values: those at the ends of their types, those that mean something, and others.
func Fill(dice *rand.Rand, message proto.Message) { fill(dice, message.ProtoReflect(), 0) }

func fill(dice *rand.Rand, message protoreflect.Message, depth int) {
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch {
		case dice.IntN(3) == 0, depth == depthMax && field.Message() != nil, field.IsMap():
		case field.IsList():
			list := message.Mutable(field).List()
			for range dice.IntN(entriesMax) {
				if field.Message() == nil {
					list.Append(scalar(dice, field))
					continue
				}
				entry := list.NewElement()
				fill(dice, entry.Message(), depth+1)
				list.Append(entry)
			}
		case field.Message() != nil:
			fill(dice, message.Mutable(field).Message(), depth+1)
		default:
			message.Set(field, scalar(dice, field))
		}
	}
}

func scalar(dice *rand.Rand, field protoreflect.FieldDescriptor) protoreflect.Value {
	number := []uint64{
		0, 1, 2, 3, 15, 100, 1_000, 1_000, 5_000, 60_000, 65_535, math.MaxInt32, math.MaxUint32, math.MaxInt64,
		math.MaxUint64, dice.Uint64N(100), dice.Uint64N(5_000), dice.Uint64(),
	}[dice.IntN(18)]
	switch field.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(dice.IntN(2) == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(dice.IntN(8) - 1)) //nolint:gosec // below 8
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(number)) //nolint:gosec // any bits
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(number)) //nolint:gosec // any bits
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(number)) //nolint:gosec // any bits
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(number)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(math.Float32frombits(uint32(number))) //nolint:gosec // any bits
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(math.Float64frombits(number))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString([]string{
			"", "x", "\x1b[31mred\r\n", "\u202e", "10.0.4.1", "%!s(int=1) %n", string(make([]byte, 3_000)),
		}[dice.IntN(7)])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(random(dice, []int{0, 1, 4, 4, 6, 6, 16, 16, 300}[dice.IntN(9)]))
	case protoreflect.MessageKind, protoreflect.GroupKind:
	}
	return field.Default()
}
