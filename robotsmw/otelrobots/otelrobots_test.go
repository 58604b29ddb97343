package otelrobots_test

import (
	"fmt"
	"log"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/otelrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// crawl visits a few URLs of a small web. The metrics are recorded with meter.
func crawl(meter metric.Meter) {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /cart\n", "/": "welcome"})
	web.Handle("down.example", robotstest.Status(http.StatusServiceUnavailable))
	robots, pace, err := otelrobots.New(meter)
	if err != nil {
		log.Fatal(err)
	}
	client, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0",
		Base:      &web,
		Observer:  robots,
		Limiter:   &politeness.Limiter{Observer: pace},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, u := range []string{"http://shop.example/", "http://shop.example/cart", "http://shop.example/cart?2", "http://down.example/"} {
		if resp, err := client.Get(u); err == nil {
			resp.Body.Close()
		}
	}
}

func TestInstruments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counted meter
		crawl(&counted)
		got := counted.series()
		want := []string{
			"politeness.events politeness.event=backed off 1",
			"politeness.waits 3",
			"robots.decisions robots.allowed=false,robots.reason=rule 2",
			"robots.decisions robots.allowed=false,robots.reason=unreachable 1",
			"robots.decisions robots.allowed=true,robots.reason=no-match 1",
			"robots.fetch.duration robots.outcome=successful 1",
			"robots.fetch.duration robots.outcome=unreachable 1",
			"robots.fetches http.response.status_code=200,robots.outcome=successful 1",
			"robots.fetches http.response.status_code=503,robots.outcome=unreachable 1",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the series are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if strings.Contains(strings.Join(got, " "), "example") {
			t.Errorf("an attribute contains a host, want none:\n%s", strings.Join(got, "\n"))
		}
	})
}

// Each of two hosts is owned after a wait of 3 s. Then one of them is handed
// over, and the other is lost.
func TestHostsOfAFleetAreCounted(t *testing.T) {
	var counted meter
	_, pace, err := otelrobots.New(&counted)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"a.example", "b.example"} {
		pace.Owned(t.Context(), politeness.Event{Host: host, Wait: 3 * time.Second})
	}
	pace.HandedOver(t.Context(), politeness.Event{Host: "a.example"})
	pace.Lost(t.Context(), politeness.Event{Host: "b.example"})
	want := []string{
		"politeness.events politeness.event=handed over 1",
		"politeness.events politeness.event=lost 1",
		"politeness.events politeness.event=owned 2",
		"politeness.fleet.waits 2",
	}
	if got := counted.series(); !slices.Equal(got, want) {
		t.Errorf("the series are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestStoreFailuresAreCounted(t *testing.T) {
	var counted meter
	robots, _, err := otelrobots.New(&counted)
	if err != nil {
		t.Fatal(err)
	}
	robots.StoreFailed(t.Context(), "get", fmt.Errorf("disk full"))
	if got := counted.series(); !slices.Equal(got, []string{"robots.store.failures robots.operation=get 1"}) {
		t.Errorf("got the series %q, want one failure of a get", got)
	}
}

func TestNilMeter(t *testing.T) {
	if _, _, err := otelrobots.New(nil); err == nil {
		t.Error("New with a nil meter returned no error, want one")
	}
}

func ExampleNew() {
	robots, pace, err := otelrobots.New(noop.NewMeterProvider().Meter("crawler")) // or otel.Meter("crawler")
	if err != nil {
		log.Fatal(err)
	}
	_, err = robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Observer:  robots,
		Limiter:   &politeness.Limiter{Observer: pace},
	})
	fmt.Println(err)
	// Output: <nil>
}
