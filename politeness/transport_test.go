package politeness

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// roundTripFunc is a Base.
type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer is a Base that answers at once.
func answer(status int, body string, header ...string) roundTripFunc {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Request: r, ContentLength: int64(len(body)),
			Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func get(t testing.TB, rt http.RoundTripper, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestZeroTransportPacesByTheSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: answer(200, "hello")}
		zero := time.Now()
		for i := range 3 {
			resp := get(t, tr, "http://example.com/")
			if got, want := time.Since(zero), time.Duration(i)*time.Second; got != want {
				t.Errorf("request %d after %v, want %v", i, got, want)
			}
			if _, err := io.ReadAll(resp.Body); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// http.Client.Timeout also counts the wait, so what would not fit is refused.
func TestClientTimeoutShorterThanTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &http.Client{Timeout: 5 * time.Second,
			Transport: &Transport{Base: answer(200, ""), Limiter: &Limiter{Delay: 10 * time.Second}}}
		resp, err := c.Get("http://example.com/1")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		zero := time.Now()
		_, err = c.Get("http://example.com/2")
		var d *DelayError
		if !errors.As(err, &d) || d.Until.Sub(zero) != 10*time.Second {
			t.Fatalf("error %v, want a DelayError", err)
		}
		if time.Since(zero) != 0 {
			t.Errorf("it came after %v, not at once", time.Since(zero))
		}
	})
}
