package otelrobots_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// A meter adds up what its instruments count. It is used instead of the
// OpenTelemetry SDK, so that the module does not require the SDK.
type meter struct {
	noop.Meter
	mu     sync.Mutex
	counts map[string]int64 // by name and attributes
}

func (m *meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counter{meter: m, name: name}, nil
}

func (m *meter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return histogram{meter: m, name: name}, nil
}

func (m *meter) add(name string, set attribute.Set, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts = make(map[string]int64)
	}
	m.counts[strings.TrimSpace(name+" "+set.Encoded(attribute.DefaultEncoder()))] += n
}

// series lists the counts of every instrument as "name attributes count".
func (m *meter) series() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for name, n := range m.counts {
		all = append(all, fmt.Sprint(name, " ", n))
	}
	slices.Sort(all)
	return all
}

// A counter adds up the values that are added to it.
type counter struct {
	noop.Int64Counter
	meter *meter
	name  string
}

func (c counter) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	c.meter.add(c.name, metric.NewAddConfig(opts).Attributes(), n)
}

// A histogram counts the values that are recorded.
type histogram struct {
	noop.Float64Histogram
	meter *meter
	name  string
}

func (h histogram) Record(_ context.Context, _ float64, opts ...metric.RecordOption) {
	h.meter.add(h.name, metric.NewRecordConfig(opts).Attributes(), 1)
}
