// Package prometheus checks that the Prometheus example in the documentation of
// package otelrobots works.
package prometheus

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/otelrobots"
)

// withMetrics adds observers to opts, and serves their metrics at /metrics.
func withMetrics(opts robotsmw.Options) (robotsmw.Options, error) {
	// doc {
	exporter, err := prometheus.New()
	meter := metric.NewMeterProvider(metric.WithReader(exporter)).Meter("crawler")
	robots, pace, err2 := otelrobots.New(meter)
	opts.Observer, opts.Limiter = robots, &politeness.Limiter{Observer: pace}
	http.Handle("/metrics", promhttp.Handler())
	// }
	return opts, errors.Join(err, err2)
}
