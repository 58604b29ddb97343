package collyrobots

import (
	"sync"
	"unsafe"

	"github.com/gocolly/colly/v2"
)

// attachedCollector is a collector that the extension is attached to.
type attachedCollector struct {
	*Extension
	collector *colly.Collector

	// Pointers to fields of the collector, because to look for a field takes
	// time.
	backend        *unsafe.Pointer
	headerHandlers *[]colly.RequestCallback // nil if not known

	collectorMu  sync.Mutex     // guards what follows
	guard        *guard         // the last guard of the collector; nil at first
	guardBackend unsafe.Pointer // the backend to which guard belongs

	// registered is how many OnRequestHeaders handlers the collector had when
	// onRequestHeaders was last registered, including that one.
	registered int
}

// currentGuard returns the guard of the collector's backend. After
// Collector.Init, the collector has another backend. The result is nil if this
// version of colly has no backend.
func (a *attachedCollector) currentGuard() *guard {
	a.collectorMu.Lock()
	defer a.collectorMu.Unlock()
	if backend := *a.backend; backend != a.guardBackend {
		if g, err := a.guardFor(a.collector); err == nil {
			a.guard = g
			a.guardBackend = backend
		}
	}
	return a.guard
}

// keepHandlerLast registers onRequestHeaders again if another handler was
// registered after it, because that handler might set a client.
func (a *attachedCollector) keepHandlerLast() {
	a.collectorMu.Lock()
	defer a.collectorMu.Unlock()
	if a.headerHandlers == nil {
		if a.registered == 0 {
			a.collector.OnRequestHeaders(a.onRequestHeaders)
			a.registered = 1
		}
		return
	}
	if len(*a.headerHandlers) != a.registered {
		a.collector.OnRequestHeaders(a.onRequestHeaders)
		a.registered = len(*a.headerHandlers)
	}
}

// onRequestHeaders runs just before colly reads the client.
func (a *attachedCollector) onRequestHeaders(*colly.Request) {
	if g := a.currentGuard(); g != nil {
		g.syncClient()
	}
}
