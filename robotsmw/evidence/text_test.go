package evidence

import (
	"encoding/json"
	"net/url"
	"testing"
	"time"
	"unicode/utf8"
)

// encoding/json decodes the output of appendMembers to the same values.
func FuzzText(f *testing.F) {
	f.Add("https://example.com/a?b=<c>&d", int64(1), int64(0))
	f.Add("\x00\x1f\"\\\n\r\t\x7f\u2028ツ\xff\xc3", int64(-5), int64(-1))
	f.Add("", int64(1_500_000_000), int64(1<<62))
	f.Fuzz(func(t *testing.T, text string, ns, unix int64) {
		unix %= 253402300799 // the last second of the year 9999
		at := time.Unix(unix, ns%1e9)
		if y := at.UTC().Year(); y < 0 || y > 9999 {
			t.Skip()
		}
		b := appendMembers(
			[]byte(`{"x":0`),
			"text",
			text,
			"seconds",
			seconds(time.Duration(ns)),
			"time",
			at,
		)
		b = append(b, '}')
		var v struct {
			Text    string
			Seconds json.Number
			Time    string
		}
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatalf("appendMembers returns %s, want valid JSON: %v", b, err)
		}
		want := text
		if !utf8.ValidString(text) {
			j, _ := json.Marshal(text)
			json.Unmarshal(j, &want)
		}
		if v.Text != want {
			t.Errorf("the text is decoded as %q, want %q", v.Text, want)
		}
		if ns > -1<<53 && ns < 1<<53 { // of longer durations, the last digits are rounded
			if d, err := time.ParseDuration(v.Seconds.String() + "s"); err != nil || d != time.Duration(ns) {
				t.Errorf("the duration is decoded as %v (error %v), want %d ns", d, err, ns)
			}
		}
		if got, err := time.Parse(time.RFC3339Nano, v.Time); !at.IsZero() && (err != nil || !got.Equal(at)) {
			t.Errorf("the time is decoded as %v (error %v), want %v", v.Time, err, at)
		}
	})
}

// A robots.txt matches a redacted URL in the same way as the URL that was sent.
func TestRedacted(t *testing.T) {
	for text, want := range map[string]string{
		"http://a.example/b?c=\u30c4":             "http://a.example/b?c=\u30c4",
		"http://joe:secret@a.example/b":           "http://joe:xxxxx@a.example/b",
		"http://a.example/b?\xe9\ufffd\u30c4\xff": "http://a.example/b?%E9\ufffd\u30c4%FF",
		"http://joe:secret@a.example/b?\x80":      "http://joe:xxxxx@a.example/b?%80",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := redacted(u); got != want {
			t.Errorf("redacted(%q) = %q, want %q", text, got, want)
		}
	}
}
