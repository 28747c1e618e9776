// SPDX-License-Identifier: Apache-2.0

// Package survey measures one's own way, as section 3 of the paper does on two train lines (Nishikawa and Shiroshima):
// a phone sends 1000 bytes each 100 ms by TCP and by UDP, the server 50 bytes each 100 ms by UDP, and the phone notes
// its arrivals. The result is a table of all packets with one-way delays (Log).
//
// The paper's clocks were set beforehand, by a WLAN with a round trip of 5 ms. Here the difference of the two clocks is
// estimated from the datagrams themselves (Clock), and each delay has the uncertainty of that.
//
// Log, Clock and the formats are pure; Run is the phone's end and Server the other.
package survey
