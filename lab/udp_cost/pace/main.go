// SPDX-License-Identifier: Apache-2.0

// Command pace has the phone's program for flows at an interface, until it is ended, in the guest of cost.sh.
//
//	pace INTERFACE all|app READY
//
// all: UDP of the phone has a rate, above what is sent; app: that of an app that does not send has one as well, so that
// the program looks for the app of each packet. The file READY is made when packets go through the program.
package main

import (
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/flows"
	"github.com/airbound/airbound/phone-agent/flows/tcbpf"
)

const (
	rateBPS   = 100_000_000
	otherUID  = 10073
	foreverUS = 1 << 50
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "pace: %v\n", err)
		os.Exit(1)
	}
}

func run(words []string) error {
	if len(words) != 3 || (words[1] != "all" && words[1] != "app") {
		return fmt.Errorf("pace INTERFACE all|app READY, and not %q", words)
	}
	wanted := []flows.Flow{{UDPBPS: rateBPS}}
	if words[1] == "app" {
		wanted = append(wanted, flows.Flow{Selector: flows.Selector{HasUID: true, UID: otherUID}, UDPBPS: rateBPS})
	}
	kernel, err := tcbpf.Load(tcbpf.Options{})
	if err != nil {
		return err //nolint:wrapcheck // it has all that is known
	}
	if err := kernel.Set(words[0], wanted, foreverUS); err != nil {
		return err //nolint:wrapcheck // as above
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGTERM)
	if err := os.WriteFile(words[2], nil, 0o600); err != nil { //nolint:gosec // named by an argument, on purpose
		return err //nolint:wrapcheck // it names the file
	}
	<-ended
	counts, err := kernel.Counters()
	if err == nil && counts.Dropped > 0 {
		err = fmt.Errorf("%d packets were dropped", counts.Dropped)
	}
	if err != nil {
		return err //nolint:wrapcheck // as above
	}
	return kernel.Close() //nolint:wrapcheck // as above
}
