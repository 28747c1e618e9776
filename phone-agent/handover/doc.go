// SPDX-License-Identifier: Apache-2.0

// Package handover carries records over TCP without the long silence after a handover.
//
// After seconds in which everything was lost, TCP waits for its retransmission timer, which has doubled each time. Two
// ends that use this package have a second connection ready: the phone's end switches to it when a handover has
// completed, sends again what was not acknowledged, and opens another second connection. The method is that of
// Nishikawa and Shiroshima, "LTE におけるハンドオーバー時のバーストロスに伴う TCP 通信遅延の抑制方式"; README.md says
// what is added to it.
//
// The server:
//
//	listener, err := handover.Listen("[::]:7000", handover.Config{})
//	conn, err := listener.Accept(ctx) // one for each session
//	for {
//		record, err := conn.Receive(ctx) // io.EOF after the last record
//		...
//	}
//
// The phone:
//
//	conn, err := handover.Dial(ctx, "server.example:7000", handover.Config{Events: events})
//	_, err = conn.Send(ctx, data) // up to 64 KiB; waits while too much is not confirmed
//	err = conn.Shutdown(ctx)      // waits until the server's application has confirmed all
//
// Both ends may send and receive. Events is a channel of arrivals: an Event for each time that the phone has arrived at
// an access point or a base station. With one the phone switches at once if what it has sent is not acknowledged;
// Config.WaitForNotice is the method of the paper alone. Without any the phone switches only if a connection breaks.
//
// # What is promised
//
// Each record is delivered to the peer's application once, in the order of Send or, with Config.NewestFirst, the newest
// of those that have arrived first, as long as both processes live and the session is not given up
// (Config.SessionTimeout). Connections may break at any time.
//
// A record is confirmed when the peer's application calls Receive again after it, or Confirm if Config.ManualConfirm is
// set. Of a record that was not confirmed when the session ended, the sender knows nothing: the peer's application may
// have taken it or not. Conn.Unconfirmed returns these records.
//
// After the server's process was started again the phone sends all records that were not confirmed once more, to a new
// session of the same name. The server's application gets those twice that it took and did not confirm, unless it saves
// the sequence numbers together with the records' effects and returns them in Config.Origin.
//
// When the phone's process ends its records in memory are lost; another process is another session.
package handover
