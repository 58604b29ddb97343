package robotsmw

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/politeness"
)

// constructors are the functions that check Options.
var constructors = map[string]func(Options) error{
	"NewClient":    func(o Options) error { _, err := NewClient(o); return err },
	"NewTransport": func(o Options) error { _, err := NewTransport(o); return err },
	"NewChecker":   func(o Options) error { _, err := NewChecker(o); return err },
}

// The constructors return an error if a field of the Limiter is invalid.
// Otherwise, no request for a robots.txt could start, and every page would be
// disallowed because its robots.txt is unreachable.
func TestOptions_InvalidLimiter(t *testing.T) {
	invalid := &politeness.Limiter{Jitter: -1}
	within := &politeness.Limiter{Within: &politeness.Limiter{Within: invalid}}
	tests := []struct {
		opts Options
		want string
	}{
		{Options{Limiter: invalid}, "robotsmw: Options.Limiter: politeness: Limiter.Jitter is -1: "},
		{Options{Limiter: within},
			"robotsmw: Options.Limiter: politeness: Limiter.Within.Within: Limiter.Jitter is -1: "},
		{Options{Base: &politeness.Transport{Limiter: invalid}},
			"robotsmw: Options.Base: politeness: Limiter.Jitter is -1: "},
		{Options{Base: &politeness.Transport{Limiter: within}, Limiter: new(politeness.Limiter)},
			"robotsmw: Options.Base: politeness: Limiter.Within.Within: Limiter.Jitter"},
	}
	for _, tt := range tests {
		tt.opts.UserAgent = testAgent
		for name, construct := range constructors {
			if err := construct(tt.opts); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%s returned error %v, want one that begins with %q", name, err, tt.want)
			}
		}
	}
}

// A validatingBase is a Base with a Validate method, like a
// webbotauth.Transport.
type validatingBase struct {
	http.RoundTripper
	err error
}

func (b validatingBase) Validate() error { return b.err }

func TestOptions_InvalidBase(t *testing.T) {
	invalid := errors.New("no key")
	for name, construct := range constructors {
		if err := construct(Options{UserAgent: testAgent, Base: validatingBase{err: invalid}}); !errors.Is(err, invalid) || !strings.Contains(err.Error(), "Options.Base") {
			t.Errorf("%s returned error %v, want one that wraps Base's error and contains \"Options.Base\"", name, err)
		}
		if err := construct(Options{UserAgent: testAgent, Base: validatingBase{}}); err != nil {
			t.Errorf("%s with a valid Base: got error %v, want none", name, err)
		}
	}
}

// A Wrap that returns nil must not leave the client without the robots
// transport: http.Client uses http.DefaultTransport if it has none.
func TestWrap_ReturnsNil(t *testing.T) {
	client, err := NewClient(Options{UserAgent: testAgent,
		Wrap: func(http.RoundTripper) http.RoundTripper { return nil }})
	if client != nil || err == nil || !strings.Contains(err.Error(), "Options.Wrap") {
		t.Errorf("NewClient = %v, %v; want only an error about Options.Wrap", client, err)
	}
}
