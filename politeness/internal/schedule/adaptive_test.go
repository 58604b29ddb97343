package schedule

import (
	"testing"
	"time"
)

// The adaptive delay rises at once, and falls by half of the difference with
// each 2xx response.
func TestHost_Adaptive(t *testing.T) {
	h := testHost(func(set *Settings) { set.Delay, set.Adaptive = 0, 5 })
	for i, tt := range []struct {
		signals Signals
		want    time.Duration
		slower  bool
	}{
		{Signals{Status: 200, Class: Good, Latency: s}, 5 * s, true},
		{Signals{Status: 200, Class: Good, Latency: 200 * ms}, 3 * s, false},
		{Signals{Status: 404, Class: Good, Latency: 1}, 3 * s, false},
		{Signals{Failed: true, Latency: 2 * s}, 10 * s, true},
		{Signals{Status: 200, Class: Good}, 10 * s, false},
		{Signals{Status: 200, Class: Good, Latency: time.Hour}, MaxAdaptive, true},
	} {
		r := &Request{PhaseStart: Time(i * s)}
		if e := h.ApplyOutcome(Time(i*s), r, tt.signals); e.Slower != tt.slower || h.Delay() != tt.want {
			t.Errorf("after response %d, the delay is %v, and Slower is %t; want %v, %t", i, h.Delay(), e.Slower, tt.want, tt.slower)
		}
	}
}
