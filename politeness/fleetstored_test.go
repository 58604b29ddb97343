package politeness_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A member waits for a host and declares a Crawl-delay of 20 s. Then it becomes
// the owner, and receives an earlier state with 5 s. It must store its own
// Crawl-delay, because its next owner would not know it if this member were
// killed.
func TestFleet_StoresCrawlDelayDeclaredBeforeOwnership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{})
		f.request(politeness.WithCrawlDelay(t.Context(), 20*time.Second), shop)
		c := f.fleet.claim(t)
		c.Own(fleet.Record{State: schedule.State{CrawlDelay: 5 * time.Second}.Encode()})
		stored, _ := schedule.DecodeState(give(t, c, false, false))
		if stored.CrawlDelay != 20*time.Second {
			t.Errorf("the Crawl-delay to be stored is %v, want 20s", stored.CrawlDelay)
		}
		if again := give(t, c, false, false); again != nil {
			t.Errorf("the second state is %v, want none because nothing has changed", again)
		}
		f.done()
	})
}

// A member knows a back-off that the state of the earlier owner lacks. The
// member must store it.
func TestFleet_StoresBackOffKnownBeforeOwnership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{})
		f.request(t.Context(), shop)
		c := f.fleet.claim(t)
		c.Own(fleet.Record{})
		f.end(politeness.Outcome{Status: 429})
		f.fleet.claim(t)
		give(t, c, true, false)
		time.Sleep(50 * time.Millisecond)
		give(t, c, true, true)
		time.Sleep(10 * time.Second) // the pause is over
		f.request(t.Context(), shop)
		c = f.fleet.claim(t)
		c.Own(fleet.Record{State: schedule.State{}.Encode()})
		stored, _ := schedule.DecodeState(give(t, c, false, false))
		if stored.Level != 1 {
			t.Errorf("the level to be stored is %d, want 1", stored.Level)
		}
		f.done()
	})
}
