package robotstxt

import (
	"testing"
	"time"
)

func TestParseRequestRate(t *testing.T) {
	all := Hours{}
	for value, want := range map[string]RequestRate{
		"1/10s":             {1, 10 * time.Second, all},
		"1/5":               {1, 5 * time.Second, all},
		"100/15m":           {100, 15 * time.Minute, all},
		"400/1H":            {400, time.Hour, all},
		"9000/1d":           {9000, 24 * time.Hour, all},
		"1/99999d":          {1, 99999 * 24 * time.Hour, all},
		"1/1s 2200-0600":    {1, time.Second, Hours{22 * time.Hour, 6 * time.Hour}},
		"8/2m  07:00-21:00": {8, 2 * time.Minute, Hours{7 * time.Hour, 21 * time.Hour}},
		"8/2m 07-21":        {8, 2 * time.Minute, all},
		"8/2m 0700-2100 x":  {8, 2 * time.Minute, all},
	} {
		if got, ok := ParseRequestRate(value); !ok || got != want {
			t.Errorf("%q: %+v, %t, want %+v", value, got, ok, want)
		}
	}
	for _, value := range []string{"", "5", "/", "1/", "/1", "0/1", "1/0", "-1/5", "1/-5", "1.5/2", "1/2.5s", "1/5w", "x/y", "1/s", "1 / 5", "100000/1", "1/1e3", "1/10ss"} {
		if got, ok := ParseRequestRate(value); ok || got != (RequestRate{}) {
			t.Errorf("%q: %+v, want none", value, got)
		}
	}
	if d := (RequestRate{Requests: 1200, Per: 3 * time.Hour}).Delay(); d != 9*time.Second {
		t.Errorf("a delay of %v, want 9s", d)
	}
	if d := (RequestRate{}).Delay(); d != 0 {
		t.Errorf("no rate: a delay of %v", d)
	}
}

func TestParseVisitTime(t *testing.T) {
	six, nearlyNine := 6*time.Hour, 8*time.Hour+45*time.Minute
	for value, want := range map[string]Hours{
		"0600-0845":      {six, nearlyNine},
		"06:00-08.45":    {six, nearlyNine},
		"0600 - 0845":    {six, nearlyNine},
		"0000-2400":      {0, 24 * time.Hour},
		"0845-0600":      {nearlyNine, six},
		"08:45-0600":     {nearlyNine, six},
		"06.00\t-\t0845": {six, nearlyNine},
	} {
		if got, ok := ParseVisitTime(value); !ok || got != want {
			t.Errorf("%q: %+v, %t, want %+v", value, got, ok, want)
		}
	}
	for _, value := range []string{"", "-", "0600", "0600 0845", "06-08", "600-845", "0660-0845", "2401-0100", "9900-0100", "0600-0845-0900", "06:0-08:45", "+600-0845"} {
		if got, ok := ParseVisitTime(value); ok || got != (Hours{}) {
			t.Errorf("%q: %+v, want none", value, got)
		}
	}
}

func TestHoursContain(t *testing.T) {
	at := func(hour, minute int) time.Time {
		return time.Date(2026, 3, 29, hour, minute, 0, 0, time.UTC).In(time.FixedZone("", -5*3600))
	}
	for _, test := range []struct {
		hours   string
		in, out []time.Time
	}{
		{"0600-0845", []time.Time{at(6, 0), at(8, 44)}, []time.Time{at(5, 59), at(8, 45), at(0, 0)}},
		{"2200-0600", []time.Time{at(22, 0), at(0, 0), at(5, 59)}, []time.Time{at(6, 0), at(21, 59)}},
		{"0000-2400", []time.Time{at(0, 0), at(23, 59)}, nil},
		{"", []time.Time{at(0, 0), at(12, 0)}, nil},
	} {
		hours, _ := ParseVisitTime(test.hours)
		for _, at := range test.in {
			if !hours.Contains(at) {
				t.Errorf("%s is not in %s", at, test.hours)
			}
		}
		for _, at := range test.out {
			if hours.Contains(at) {
				t.Errorf("%s is in %s", at, test.hours)
			}
		}
	}
}

// FuzzRates feeds the values of fields anything: what is read must make sense.
func FuzzRates(f *testing.F) {
	for _, value := range []string{"1/10s 1820-1940", "9000/1d", "0600-0845", "06:00-08.45", "1/5 07-21"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		rate, ok := ParseRequestRate(value)
		if ok != (rate.Requests > 0) || ok != (rate.Per >= time.Second) || rate.Delay() < 0 {
			t.Errorf("%q: %+v, %t", value, rate, ok)
		}
		hours, _ := ParseVisitTime(value)
		for _, h := range []Hours{hours, rate.Hours} {
			if h.From < 0 || h.To < 0 || h.From > 24*time.Hour || h.To > 24*time.Hour {
				t.Errorf("%q: %+v", value, h)
			}
		}
	})
}
