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
		"§4.2: nothing is stated":             {nil, Freshness{}},
		"§5.2.2.1: max-age":                   {map[string]string{"Cache-Control": "private, max-age=60"}, Freshness{Stated: true, Lifetime: time.Minute}},
		"max-age in quotes":                   {map[string]string{"Cache-Control": `Max-Age="60"`}, Freshness{Stated: true, Lifetime: time.Minute}},
		"§4.2.1: two values are stale":        {map[string]string{"Cache-Control": "max-age=60, max-age=90"}, Freshness{Stated: true}},
		"one value said twice":                {map[string]string{"Cache-Control": "max-age=60, max-age=60"}, Freshness{Stated: true, Lifetime: time.Minute}},
		"§1.2.2: more than fits":              {map[string]string{"Cache-Control": "max-age=99999999999999999999"}, Freshness{Stated: true, Lifetime: 1<<63 - 1}},
		"no number":                           {map[string]string{"Cache-Control": "max-age=soon"}, Freshness{Stated: true}},
		"s-maxage is for shared caches":       {map[string]string{"Cache-Control": "s-maxage=60"}, Freshness{}},
		"§5.2.2.5: no-store":                  {map[string]string{"Cache-Control": "no-store"}, Freshness{NoStore: true}},
		"§5.2.2.4: no-cache":                  {map[string]string{"Cache-Control": "no-cache, public"}, Freshness{NoCache: true, Public: true}},
		"no-cache for one field":              {map[string]string{"Cache-Control": `no-cache="Set-Cookie"`}, Freshness{}},
		"§5.3: Expires":                       {map[string]string{"Date": at(0), "Expires": at(time.Hour)}, Freshness{Stated: true, Lifetime: time.Hour}},
		"§5.3: Expires without a Date":        {map[string]string{"Expires": at(time.Hour)}, Freshness{Stated: true, Lifetime: time.Hour}},
		"§5.3: an Expires that is no date":    {map[string]string{"Expires": "0"}, Freshness{Stated: true}},
		"an Expires of the year 1":            {map[string]string{"Expires": "Mon, 01 Jan 0001 00:00:00 GMT"}, Freshness{Stated: true}},
		"§5.3: max-age outweighs Expires":     {map[string]string{"Cache-Control": "max-age=5", "Expires": at(time.Hour)}, Freshness{Stated: true, Lifetime: 5 * time.Second}},
		"§4.2.3: an old Date is age":          {map[string]string{"Date": at(-time.Minute)}, Freshness{Age: time.Minute}},
		"§4.2.3: the greater of Age and Date": {map[string]string{"Date": at(-time.Minute), "Age": "90"}, Freshness{Age: 90 * time.Second}},
		"a Date in the future":                {map[string]string{"Date": at(time.Hour)}, Freshness{}},
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
