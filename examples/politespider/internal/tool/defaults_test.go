package tool

import (
	"flag"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// The card of a crawl with a zero Limiter describes the pace of that Limiter.
func TestDefaults_Card(t *testing.T) {
	got := writeCard(t, robotsmw.Options{UserAgent: demoAgent, Limiter: new(politeness.Limiter)}).WebBotAuth
	control := fmt.Sprintf("Crawl-delay in robots.txt; Retry-After up to %v; 429; 503",
		politeness.DefaultMaxRetryAfter)
	if got.RateControl != control {
		t.Errorf("rate-control is %q, want %q", got.RateControl, control)
	}
	rate := 1 / politeness.DefaultDelay.Seconds()
	expectation := fmt.Sprintf("max=%.3grps for each host; one request at a time", rate)
	if got.RateExpectation != expectation {
		t.Errorf("rate-expectation is %q, want %q", got.RateExpectation, expectation)
	}
}

func TestDefaults_Delay(t *testing.T) {
	flags := flag.NewFlagSet("politespider", flag.ContinueOnError)
	new(options).define(flags)
	if got := flags.Lookup("delay").DefValue; got != politeness.DefaultDelay.String() {
		t.Errorf("default of -delay is %s, want %v", got, politeness.DefaultDelay)
	}
}

func TestDefaults_MaxRetryAfter(t *testing.T) {
	h := http.Header{"Retry-After": {"100000000"}} // three years
	if got, ok := retryAfter(h, time.Now()); !ok || got != politeness.DefaultMaxRetryAfter {
		t.Errorf("retryAfter(%v) = %v, %t; want %v", h, got, ok, politeness.DefaultMaxRetryAfter)
	}
}
