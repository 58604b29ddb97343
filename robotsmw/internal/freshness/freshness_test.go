package freshness

import (
	"net/http"
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for name, tt := range map[string]struct {
		header map[string]string
		want   Freshness
	}{
		"§4.2: nothing is stated": {nil, Freshness{}},
		"§5.2.2.1: max-age": {
			header: map[string]string{"Cache-Control": "private, max-age=60"},
			want:   Freshness{Stated: true, Lifetime: time.Minute},
		},
		"max-age in quotes": {
			header: map[string]string{"Cache-Control": `Max-Age="60"`},
			want:   Freshness{Stated: true, Lifetime: time.Minute},
		},
		"§4.2.1: two values are stale": {
			header: map[string]string{"Cache-Control": "max-age=60, max-age=90"},
			want:   Freshness{Stated: true},
		},
		"one value said twice": {
			header: map[string]string{"Cache-Control": "max-age=60, max-age=60"},
			want:   Freshness{Stated: true, Lifetime: time.Minute},
		},
		"§1.2.2: more than fits": {
			header: map[string]string{"Cache-Control": "max-age=99999999999999999999"},
			want:   Freshness{Stated: true, Lifetime: 1<<63 - 1},
		},
		"no number": {
			header: map[string]string{"Cache-Control": "max-age=soon"},
			want:   Freshness{Stated: true},
		},
		"s-maxage is for shared caches": {
			header: map[string]string{"Cache-Control": "s-maxage=60"},
			want:   Freshness{},
		},
		"§5.2.2.5: no-store": {
			header: map[string]string{"Cache-Control": "no-store"},
			want:   Freshness{NoStore: true},
		},
		"§5.2.2.4: no-cache": {
			header: map[string]string{"Cache-Control": "no-cache, public"},
			want:   Freshness{NoCache: true, Public: true},
		},
		"no-cache for one field": {
			header: map[string]string{"Cache-Control": `no-cache="Set-Cookie"`},
			want:   Freshness{},
		},
		"§5.3: Expires": {
			header: map[string]string{"Date": at(0), "Expires": at(time.Hour)},
			want:   Freshness{Stated: true, Lifetime: time.Hour},
		},
		"§5.3: Expires without a Date": {
			header: map[string]string{"Expires": at(time.Hour)},
			want:   Freshness{Stated: true, Lifetime: time.Hour},
		},
		"§5.3: an Expires that is no date": {
			header: map[string]string{"Expires": "0"},
			want:   Freshness{Stated: true},
		},
		"an Expires of the year 1": {
			header: map[string]string{"Expires": "Mon, 01 Jan 0001 00:00:00 GMT"},
			want:   Freshness{Stated: true},
		},
		"§5.3: max-age outweighs Expires": {
			header: map[string]string{"Cache-Control": "max-age=5", "Expires": at(time.Hour)},
			want:   Freshness{Stated: true, Lifetime: 5 * time.Second},
		},
		"§4.2.3: an old Date is age": {
			header: map[string]string{"Date": at(-time.Minute)},
			want:   Freshness{Age: time.Minute},
		},
		"§4.2.3: the greater of Age and Date": {
			header: map[string]string{"Date": at(-time.Minute), "Age": "90"},
			want:   Freshness{Age: 90 * time.Second},
		},
		"a Date in the future": {
			header: map[string]string{"Date": at(time.Hour)},
			want:   Freshness{},
		},
	} {
		h := make(http.Header)
		for key, value := range tt.header {
			h.Set(key, value)
		}
		if got := Of(h, now); got != tt.want {
			t.Errorf("%s: Of(%v) = %+v, want %+v", name, h, got, tt.want)
		}
	}
}
