// SPDX-License-Identifier: Apache-2.0

package survey

import "testing"

func TestReceiptsThatAPhoneDoesNotTakeAreLimitedAndCounted(t *testing.T) {
	t.Parallel()
	var server Server
	var one session
	for i := range receiptsMax + 3 {
		server.note(&one, Receipt{TCPUp, uint64(i) + 1, 1})
	}
	if got := server.Stats().Receipts; got != 3 || len(one.receipts) != receiptsMax {
		t.Errorf("%d left out, %d kept", got, len(one.receipts))
	}
}
