package redislimit

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// A member joins whose Limiter has another Delay and another Concurrency. It
// logs one Warn, which names both, also if its session ends and begins again. A
// member with the same settings logs nothing.
func TestSettings_Differ(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		var logs [3]*strings.Builder
		var members [3]*testMember
		for i, l := range []*politeness.Limiter{{}, {Delay: time.Second}, {Delay: 3 * time.Second, Concurrency: 2}} {
			members[i] = f.join(l)
			logs[i] = members[i].recordLog()
			members[i].request(host, ok200)
		}
		time.Sleep(5 * time.Minute) // all sessions end
		members[0].request(host, ok200)
		time.Sleep(5 * time.Minute)
		members[2].request(host, ok200)
		for i, want := range []int{1, 0, 1} { // the first member joins again after the third
			if n := strings.Count(logs[i].String(), "level=WARN"); n != want {
				t.Errorf("member %d logged %d warnings, want %d:\n%s", i, n, want, logs[i])
			}
		}
		for _, want := range []string{"Delay is 3s here and 1s there", "Concurrency is 2 here and 1 there"} {
			if !strings.Contains(logs[2].String(), want) || strings.Contains(logs[2].String(), "BackOff") {
				t.Errorf("the log of member 2 is\n%s\nwant %q in it, and no %q", logs[2], want, "BackOff")
			}
		}
	})
}
