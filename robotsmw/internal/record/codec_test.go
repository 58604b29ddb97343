package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"net/http"
	"testing"
	"time"
)

const someRules = "User-agent: *\nDisallow: /private/\n"

// stored returns a stored value that consists of s and body, even if the two
// contradict each other.
func stored(t *testing.T, origin string, s storedRecord, body string) []byte {
	t.Helper()
	s.Version, s.Origin = storedVersion, origin
	s.Robot = (&Kind{Tokens: []string{"ExampleBot"}}).Robot()
	head, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return append(append(head, '\n'), body...)
}

func sha256Hex(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// Decode returns an error for a pause of more than 24 hours, times in the wrong
// order, and a count that is less than 1 or too large.
func TestStoredFailuresAreChecked(t *testing.T) {
	const origin = "http://a.example"
	k := &Kind{Tokens: []string{"ExampleBot"}}
	now := time.Now()
	for name, f := range map[string]storedFailure{
		"a pause of 25 hours":   {Since: now, Last: now, Count: 1, Retry: now.Add(25 * time.Hour)},
		"the last before first": {Since: now, Last: now.Add(-time.Hour), Count: 1, Retry: now},
		"none of them":          {Since: now, Last: now, Retry: now},
		"more than are counted": {Since: now, Last: now, Count: math.MaxInt, Retry: now},
	} {
		if rec, err := k.Decode(origin, stored(t, origin, storedRecord{
			State:   "none",
			Failure: &f,
		}, "")); err == nil {
			t.Errorf("Decode of a failure, %s: got %+v, want an error", name, rec)
		}
	}
}

func FuzzStoredRecord(f *testing.F) {
	k := &Kind{Tokens: []string{"ExampleBot"}}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	good := &Record{
		State:   Good,
		Status:  http.StatusOK,
		Doc:     k.Document([]byte(someRules)),
		Fetched: now,
		Expires: now.Add(time.Hour),
	}
	f.Add(k.Encode("http://a.example", good, []byte(someRules)))
	f.Add(k.Encode("http://a.example", good.Failed("", now.Add(time.Hour), 503, "status 503", 0), []byte(someRules)))
	f.Add(k.Encode("http://a.example", (*Record)(nil).Failed("", now, 0, "reset", 0), nil))
	f.Fuzz(func(t *testing.T, value []byte) {
		_, body, _ := bytes.Cut(value, []byte{'\n'})
		rec, err := k.Decode("http://a.example", value)
		if err != nil {
			return
		}
		if rec.Expires.Sub(rec.Fetched) > MaxLifetime {
			t.Errorf("the lifetime is %v, want at most %v", rec.Expires.Sub(rec.Fetched), MaxLifetime)
		}
		again, err := k.Decode("http://a.example", k.Encode("http://a.example", rec, body))
		if err != nil {
			t.Fatalf("Decode of an encoded %+v returned error %v, want none", rec, err)
		}
		hasSameTimes := again.Expires.Equal(rec.Expires) && again.Fetched.Equal(rec.Fetched)
		if again.State != rec.State || !hasSameTimes {
			t.Errorf("Decode of an encoded %+v = %+v, want the same state and times", rec, again)
		}
		// A caller that decides by the record relies on these fields.
		switch rec.InForce(now) {
		case Good:
			rec.Doc.Rules.Match("/private/")
		case None:
			_ = rec.Failure.Cause
		case Override:
			t.Errorf("Decode returned the override %+v, want another state, because an override is not stored", rec)
		}
	})
}
