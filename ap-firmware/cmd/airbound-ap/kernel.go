// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/nl80211"
)

// kernel looks at one BSS and makes its socket anew after an error: an answer that comes late would be taken for that
// of the next question.
type kernel struct {
	interfaceName string
	dial          func() (*nl80211.Client, error)
	client        *nl80211.Client
}

func (k *kernel) look() (nl80211.Snapshot, error) {
	if k.client == nil {
		client, err := k.dial()
		if err != nil {
			return nl80211.Snapshot{}, err
		}
		k.client = client
	}
	snapshot, err := k.client.Look(k.interfaceName)
	if err != nil {
		return nl80211.Snapshot{}, errors.Join(err, k.close())
	}
	if snapshot.Interface.Type != nl80211.TypeAP {
		return nl80211.Snapshot{}, fmt.Errorf("%s is not an access point now", k.interfaceName)
	}
	return snapshot, nil
}

func (k *kernel) close() error {
	if k.client == nil {
		return nil
	}
	client := k.client
	k.client = nil
	return client.Close()
}

func monotonicUS() uint64 {
	var now unix.Timespec
	// Fails only for a clock that the kernel does not have; the report then says 0.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	const nsPerUS = 1000
	return uint64(now.Nano() / nsPerUS) //nolint:gosec // this clock starts at 0
}
