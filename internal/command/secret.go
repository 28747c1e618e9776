// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// secretMax is longer than any secret that is typed or pasted.
const secretMax = 4096

// ReadSecret returns an argument, or the first line of stdin if the argument is "-": other users of the machine can see
// arguments in the list of processes.
func ReadSecret(argument string, stdin io.Reader) (string, error) {
	if argument != "-" {
		return argument, nil
	}
	line, err := bufio.NewReader(io.LimitReader(stdin, secretMax)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if line = strings.TrimSpace(line); line == "" {
		return "", errors.New("standard input is empty")
	}
	return line, nil
}
