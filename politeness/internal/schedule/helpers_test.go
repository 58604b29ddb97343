package schedule

import "time"

// s is a second, and ms is a millisecond, of both Time and time.Duration.
const (
	s  = 1_000_000_000
	ms = 1_000_000
)

// testSettings are the defaults of a Limiter, without randomness.
func testSettings(edit ...func(*Settings)) *Settings {
	settings := &Settings{
		Delay: s, MaxCrawlDelay: time.Minute, BackOff: 5 * s, MaxBackOff: time.Hour, Concurrency: 1,
		Random: func() float64 { return 0 },
	}
	for _, f := range edit {
		f(settings)
	}
	return settings
}

func testHost(edit ...func(*Settings)) *Host {
	h := new(Host)
	h.Init(testSettings(edit...))
	return h
}

// start lets r start now.
func (h *Host) start(now Time, r *Request) {
	h.Start(now, r, time.Hour)
}
