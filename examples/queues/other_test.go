//go:build !unix

package queues

import "testing"

func TestQueues(t *testing.T) {
	t.Skip("SKIPPED: the tests end processes by signals, which this system does not have")
}
