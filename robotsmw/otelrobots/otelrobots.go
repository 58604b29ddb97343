// Package otelrobots provides OpenTelemetry metrics for Courtesy.
//
//	robots, pace, err := otelrobots.New(otel.Meter("crawler"))
//	...
//	client, err := robotsmw.NewClient(robotsmw.Options{
//		UserAgent: agent,
//		Observer:  robots,
//		Limiter:   &politeness.Limiter{Observer: pace},
//	})
//
// # Prometheus
//
// The following lines export the metrics to Prometheus. They use the packages
// go.opentelemetry.io/otel/sdk/metric,
// go.opentelemetry.io/otel/exporters/prometheus and
// github.com/prometheus/client_golang/prometheus/promhttp. opts are the
// robotsmw.Options of the client, and errors should be checked:
//
//	exporter, err := prometheus.New()
//	meter := metric.NewMeterProvider(metric.WithReader(exporter)).Meter("crawler")
//	robots, pace, err2 := otelrobots.New(meter)
//	opts.Observer, opts.Limiter = robots, &politeness.Limiter{Observer: pace}
//	http.Handle("/metrics", promhttp.Handler())
//
// # Instruments
//
//	robots.decisions      {decision}  by robots.reason and robots.allowed
//	robots.fetches        {fetch}     by robots.outcome and http.response.status_code
//	robots.fetch.duration s           by robots.outcome; includes the wait for a slot
//	robots.store.failures {failure}   by robots.operation
//	politeness.waits      s           wait of requests that were granted
//	politeness.events     {event}     by politeness.event: rejected, canceled,
//	                                  backed off; for hosts of a fleet: owned,
//	                                  handed over, lost
//	politeness.fleet.waits s          wait of hosts for an owner
//
// The number of time series does not depend on the number of hosts, because
// attributes do not contain hosts.
package otelrobots

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// New creates the instruments. It returns observers that record to them, for
// robotsmw.Options.Observer and politeness.Limiter.Observer, which can be
// combined with other observers by robotsmw.Join and politeness.Join. Both are
// safe for concurrent use. New returns an error if meter is nil or fails to
// create an instrument.
func New(meter metric.Meter) (*robotsmw.Observer, *politeness.Observer, error) {
	if meter == nil {
		return nil, nil, errors.New("otelrobots: meter is nil; use otel.Meter(\"yourcrawler\")")
	}
	var errs []error
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	histogram := func(name, description string, bounds ...float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
		return h
	}
	decisions := counter("robots.decisions", "{decision}", "Decisions about URLs, by reason")
	fetches := counter("robots.fetches", "{fetch}", "Fetches of robots.txt, by outcome")
	duration := histogram("robots.fetch.duration", "Duration of fetches of robots.txt, including the wait for a slot", .01, .03, .1, .3, 1, 3, 10, 30, 100)
	failures := counter("robots.store.failures", "{failure}", "Failed calls of the store")
	waits := histogram("politeness.waits", "Wait of requests for their host", 0, .01, .1, 1, 10, 60, 600)
	fleetWaits := histogram("politeness.fleet.waits", "Wait of hosts until this member of the fleet owned them", 0, .01, .1, 1, 10, 60, 600)
	events := counter("politeness.events", "{event}", "Refused and canceled requests, back-offs, and changes of ownership in a fleet")
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}

	robots := &robotsmw.Observer{
		Decided: func(ctx context.Context, d robotsmw.Decision) {
			decisions.Add(ctx, 1, metric.WithAttributes(
				attribute.String("robots.reason", d.Reason.String()), attribute.Bool("robots.allowed", d.Allowed)))
		},
		Fetched: func(ctx context.Context, f robotsmw.Fetch) {
			outcome := attribute.String("robots.outcome", fetchOutcome(f))
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
	countOwned := count("owned")
	pace := &politeness.Observer{
		Granted:   func(ctx context.Context, e politeness.Event) { waits.Record(ctx, e.Wait.Seconds()) },
		Rejected:  count("rejected"),
		Canceled:  count("canceled"),
		BackedOff: count("backed off"),

		Owned: func(ctx context.Context, e politeness.Event) {
			countOwned(ctx, e)
			fleetWaits.Record(ctx, e.Wait.Seconds())
		},
		HandedOver: count("handed over"),
		Lost:       count("lost"),
	}
	return robots, pace, nil
}

// fetchOutcome returns the outcome of a fetch of robots.txt, in the terms of
// RFC 9309 §2.3.1.
func fetchOutcome(f robotsmw.Fetch) string {
	if f.Cause != "" {
		return "unreachable"
	}
	if f.Status >= 200 && f.Status <= 299 {
		return "successful"
	}
	return "unavailable"
}
