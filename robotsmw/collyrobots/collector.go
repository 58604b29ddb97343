package collyrobots

import (
	"sync"
	"unsafe"

	"github.com/gocolly/colly/v2"
)

// An attachedCollector is a collector that the extension is attached to.
type attachedCollector struct {
	*Extension
	collector *colly.Collector

	// Pointers to fields of the collector, because reflection would be slower.
	backendField   *unsafe.Pointer          // points to Collector.backend; its value changes with Collector.Init
	headerHandlers *[]colly.RequestCallback // nil if not known

	collectorMu  sync.Mutex     // guards the fields below
	guard        *guard         // the guard that currentGuard returned last; nil at first
	guardBackend unsafe.Pointer // the value of *backendField to which guard belongs

	// registered is the number of OnRequestHeaders handlers of the collector,
	// including onRequestHeaders, when that was last registered.
	registered int
}

// currentGuard returns the guard of the collector's backend. After
// Collector.Init, the collector has another backend, which gets another guard.
// If that fails, currentGuard returns the previous guard, which may be nil.
func (a *attachedCollector) currentGuard() *guard {
	a.collectorMu.Lock()
	defer a.collectorMu.Unlock()
	if backend := *a.backendField; backend != a.guardBackend {
		if g, err := a.guardFor(a.collector); err == nil {
			a.guard = g
			a.guardBackend = backend
		}
	}
	return a.guard
}

// keepHandlerLast registers onRequestHeaders again if another handler was
// registered after it, because that handler might set a client. Until the
// program registers one, onRequestHeaders is not needed and not registered.
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
