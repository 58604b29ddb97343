// Package otelrobots reports what Courtesy does as OpenTelemetry metrics.
//
//	obs, err := otelrobots.New(otel.Meter("crawler"))
//	...
//	client, err := robotsmw.NewClient(robotsmw.Options{
//		UserAgent: agent,
//		Observer:  obs,
//		Limiter:   &politeness.Limiter{Observer: obs.Pace},
//	})
//
// The instruments, all with few attribute values and none that names a host,
// so that a crawl of millions of hosts makes no more series than one of ten:
//
//	robots.decisions      {decision}  by robots.reason and robots.allowed
//	robots.fetches        {fetch}     by robots.outcome and http.response.status_code
//	robots.fetch.duration s           by robots.outcome; from the start of the wait
//	robots.lookups        {lookup}    by robots.lookup: hit, stale, miss, joined, refused
//	robots.store.failures {failure}   by robots.operation
//	politeness.waits      s           how long granted requests waited
//	politeness.events     {event}     by politeness.event: refused, backed off, …
package otelrobots

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// An Observer is a robotsmw.Observer that counts. Its Pace method is a
// politeness.Limiter's Observer. It is safe for concurrent use.
type Observer struct {
	decisions metric.Int64Counter
	fetches   metric.Int64Counter
	duration  metric.Float64Histogram
	lookups   metric.Int64Counter
	failures  metric.Int64Counter
	waits     metric.Float64Histogram
	events    metric.Int64Counter
}

var _ robotsmw.Observer = (*Observer)(nil)

// New makes the instruments. The error is the meter's.
func New(meter metric.Meter) (*Observer, error) {
	if meter == nil {
		return nil, errors.New("otelrobots: the meter is nil: use otel.Meter(\"yourcrawler\")")
	}
	var o Observer
	var errs []error
	counter := func(name, unit, what string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
		return c
	}
	histogram := func(name, what string, bounds ...float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
		return h
	}
	o.decisions = counter("robots.decisions", "{decision}", "URLs decided about, by what the decision rests on")
	o.fetches = counter("robots.fetches", "{fetch}", "robots.txt fetches, by what they came to")
	o.duration = histogram("robots.fetch.duration", "Time to fetch a robots.txt, including the wait for a slot", .01, .03, .1, .3, 1, 3, 10, 30, 100)
	o.lookups = counter("robots.lookups", "{lookup}", "Lookups of an origin's robots.txt in memory")
	o.failures = counter("robots.store.failures", "{failure}", "Calls of the store that failed")
	o.waits = histogram("politeness.waits", "Time that requests waited for their host's turn", 0, .01, .1, 1, 10, 60, 600)
	o.events = counter("politeness.events", "{event}", "Refusals, cancellations, back-offs and their like")
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &o, nil
}

// Decided counts a decision.
func (o *Observer) Decided(d robotsmw.Decision) {
	o.decisions.Add(context.Background(), 1, metric.WithAttributes(
		attribute.String("robots.reason", d.Reason.String()), attribute.Bool("robots.allowed", d.Allowed)))
}

// Fetched counts a fetch of a robots.txt and records how long it took.
func (o *Observer) Fetched(f robotsmw.Fetch) {
	outcome := attribute.String("robots.outcome", string(f.Outcome))
	o.fetches.Add(context.Background(), 1, metric.WithAttributes(outcome, attribute.Int("http.response.status_code", f.Status)))
	o.duration.Record(context.Background(), f.Duration.Seconds(), metric.WithAttributes(outcome))
}

// Looked counts a lookup.
func (o *Observer) Looked(l robotsmw.Lookup) {
	o.lookups.Add(context.Background(), 1, metric.WithAttributes(attribute.String("robots.lookup", string(l))))
}

// StoreFailed counts a failed call of the store.
func (o *Observer) StoreFailed(op string, _ error) {
	o.failures.Add(context.Background(), 1, metric.WithAttributes(attribute.String("robots.operation", op)))
}

// Pace counts what a limiter does: set it as its Observer.
func (o *Observer) Pace(e politeness.Event) {
	if e.Kind == politeness.EventGranted {
		o.waits.Record(context.Background(), e.Wait.Seconds())
		return
	}
	o.events.Add(context.Background(), 1, metric.WithAttributes(attribute.String("politeness.event", e.Kind.String())))
}
