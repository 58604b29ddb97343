// Package otelrobots reports what Courtesy does as OpenTelemetry metrics.
//
//	robots, pace, err := otelrobots.New(otel.Meter("crawler"))
//	...
//	client, err := robotsmw.NewClient(robotsmw.Options{
//		UserAgent: agent,
//		Observer:  robots,
//		Limiter:   &politeness.Limiter{Observer: pace},
//	})
//
// Five lines report them to Prometheus, with the packages metric of
// go.opentelemetry.io/otel/sdk, prometheus of its exporters, and promhttp of
// github.com/prometheus/client_golang. opts are the robotsmw.Options of the
// client, and err and err2 are to be checked:
//
//	exporter, err := prometheus.New()
//	meter := metric.NewMeterProvider(metric.WithReader(exporter)).Meter("crawler")
//	robots, pace, err2 := otelrobots.New(meter)
//	opts.Observer, opts.Limiter = robots, &politeness.Limiter{Observer: pace}
//	http.Handle("/metrics", promhttp.Handler())
//
// These are the instruments. No attribute names a host, and each has few
// values, but for the status code, which may be any of three digits. So a crawl
// of millions of hosts makes hardly more series than a crawl of ten:
//
//	robots.decisions      {decision}  by robots.reason and robots.allowed
//	robots.fetches        {fetch}     by robots.outcome and http.response.status_code
//	robots.fetch.duration s           by robots.outcome; from the start of the wait
//	robots.store.failures {failure}   by robots.operation
//	politeness.waits      s           how long granted requests waited
//	politeness.events     {event}     by politeness.event: refused, cancelled,
//	                                  backed off; for hosts of a fleet: owned,
//	                                  handed over, lost
//	politeness.fleet.waits s          how long hosts waited to be owned
package otelrobots

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// New creates the instruments, and two observers that feed them: one for
// robotsmw.Options and one for a politeness.Limiter. Both observers are safe
// for concurrent use. robotsmw.Join and politeness.Join combine them with other
// observers. New returns an error if meter is nil or cannot create an
// instrument.
func New(meter metric.Meter) (*robotsmw.Observer, *politeness.Observer, error) {
	if meter == nil {
		return nil, nil, errors.New("otelrobots: the meter is nil: use otel.Meter(\"yourcrawler\")")
	}
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
	decisions := counter("robots.decisions", "{decision}", "URLs decided about, by what the decision rests on")
	fetches := counter("robots.fetches", "{fetch}", "robots.txt fetches, by what they came to")
	duration := histogram("robots.fetch.duration", "Time to fetch a robots.txt, including the wait for a slot", .01, .03, .1, .3, 1, 3, 10, 30, 100)
	failures := counter("robots.store.failures", "{failure}", "Calls of the store that failed")
	waits := histogram("politeness.waits", "Time that requests waited for their host's turn", 0, .01, .1, 1, 10, 60, 600)
	owned := histogram("politeness.fleet.waits", "Time that hosts waited until this member of the fleet owned them", 0, .01, .1, 1, 10, 60, 600)
	events := counter("politeness.events", "{event}", "Refusals, cancellations, back-offs and their like; hosts that a fleet hands from member to member")
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}

	robots := &robotsmw.Observer{
		Decided: func(ctx context.Context, d robotsmw.Decision) {
			decisions.Add(ctx, 1, metric.WithAttributes(
				attribute.String("robots.reason", d.Reason.String()), attribute.Bool("robots.allowed", d.Allowed)))
		},
		Fetched: func(ctx context.Context, f robotsmw.Fetch) {
			outcome := attribute.String("robots.outcome", outcomeOf(f))
			fetches.Add(ctx, 1, metric.WithAttributes(outcome, attribute.Int("http.response.status_code", f.Status)))
			duration.Record(ctx, f.Duration.Seconds(), metric.WithAttributes(outcome))
		},
		StoreFailed: func(ctx context.Context, op string, _ error) {
			failures.Add(ctx, 1, metric.WithAttributes(attribute.String("robots.operation", op)))
		},
	}
	count := func(event string) func(context.Context, politeness.Event) {
		attributes := metric.WithAttributeSet(attribute.NewSet(attribute.String("politeness.event", event)))
		return func(ctx context.Context, _ politeness.Event) { events.Add(ctx, 1, attributes) }
	}
	gained := count("owned")
	pace := &politeness.Observer{
		Granted:   func(ctx context.Context, e politeness.Event) { waits.Record(ctx, e.Wait.Seconds()) },
		Refused:   count("refused"),
		Canceled:  count("cancelled"),
		BackedOff: count("backed off"),

		Owned: func(ctx context.Context, e politeness.Event) {
			gained(ctx, e)
			owned.Record(ctx, e.Wait.Seconds())
		},
		HandedOver: count("handed over"),
		Lost:       count("lost"),
	}
	return robots, pace, nil
}

// outcomeOf returns the outcome of a fetch of robots.txt (RFC 9309 §2.3.1).
func outcomeOf(f robotsmw.Fetch) string {
	switch {
	case f.Cause != "":
		return "unreachable"
	case f.Status >= 200 && f.Status <= 299:
		return "successful"
	}
	return "unavailable"
}
