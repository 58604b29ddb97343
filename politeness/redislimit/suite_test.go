package redislimit

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleettest"
)

func TestFleetInMemory(t *testing.T) {
	fleettest.Run(t, func(t *testing.T) func() fleettest.Member {
		m := new(memory)
		return func() fleettest.Member {
			l := &link{memory: m}
			f, err := newFleet(l, "{test}", Options{Lease: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			return fleettest.Member{Fleet: f, Close: f.Close, Cut: l.sever}
		}
	}, synctest.Test)
}
