// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// joinPrefix begins what `airbound enroll` prints for a device as one string; the number is its version.
const joinPrefix = "airbound1:"

// Join is all that a device needs to get its certificate. The addresses are HOST:PORT.
type Join struct {
	Controller, Enrolment string
	Token                 Token
}

// ParseJoin reads airbound1:HOST:PORT:ENROLMENT-PORT:TOKEN, where an IPv6 address is in brackets. White space around it
// is removed. Errors do not contain the token.
func ParseJoin(text string) (Join, error) {
	text = strings.TrimSpace(text)
	rest, found := strings.CutPrefix(text, joinPrefix)
	if !found {
		return Join{}, notAJoin(text)
	}
	rest, tokenText, found := cutLast(rest)
	if !found {
		return Join{}, errors.New("the string is cut off: it ends before the token")
	}
	token, err := ParseToken(tokenText)
	if err != nil {
		return Join{}, err
	}
	rest, enrolmentPort, _ := cutLast(rest)
	host, port, _ := cutLast(rest)
	if !isHost(host) {
		return Join{}, fmt.Errorf("the string has no HOST:PORT of a controller after %s as it should", joinPrefix)
	}
	for _, number := range []string{port, enrolmentPort} {
		if value, err := strconv.ParseUint(number, 10, 16); err != nil || value == 0 {
			return Join{}, fmt.Errorf("%q in the string is no port", number)
		}
	}
	return Join{host + ":" + port, host + ":" + enrolmentPort, token}, nil
}

func cutLast(text string) (before, after string, found bool) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return "", text, false
	}
	return text[:at], text[at+1:], true
}

// isHost reports whether a configuration may have this as a name, an IPv4 address, or an IPv6 address in brackets.
func isHost(text string) bool {
	inside, isBracketed := strings.CutPrefix(text, "[")
	if isBracketed {
		inside, isBracketed = strings.CutSuffix(inside, "]")
		return isBracketed && inside != "" && strings.Trim(inside, "0123456789abcdefABCDEF:.") == ""
	}
	return text != "" && strings.Trim(text,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == ""
}

func notAJoin(text string) error {
	if _, err := ParseToken(text); err == nil {
		return errors.New("this is a token alone; the string begins with " + joinPrefix +
			" (with the token alone: --controller and --token-file)")
	}
	if strings.HasPrefix(text, "airbound") {
		return fmt.Errorf("the string is of another version: this program reads %s", joinPrefix)
	}
	return fmt.Errorf("not what `airbound enroll` prints: the string begins with %s", joinPrefix)
}
