package collyrobots

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/storage"
)

// This file is the only one that accesses colly's unexported fields. All clones
// of a collector share a backend, which has the http.Client and the LimitRules.
// Colly has no getter for either. SetProxy, SetProxyFunc, SetClient,
// WithTransport and Appengine change the client or its transport without
// notification. This file would not be needed if colly had three more methods:
// a getter for the client, a getter for the LimitRules, and a SetTransport that
// callbacks cannot bypass.
//
// The package also relies on the order of colly's calls. TestCollyOrder fails
// if colly changes it:
//
//  1. Request.Retry and Request.Do rewind the body by Seek before all else.
//  2. The visited set is checked last, after the depth, MaxRequests and the
//     filters. A URL that is refused there stays unvisited.
//  3. OnRequest handlers run in the order of their registration, in the
//     goroutine of the request, before colly reads its cache directory.
//  4. LimitRules are matched before the OnRequestHeaders handlers run, in the
//     goroutine of the request. Only the first match applies.
//  5. The client is read after the OnRequestHeaders handlers, which run in the
//     order of their registration.
//  6. The client gets the cookies before it reads its transport.
//  7. OnResponse and OnError handlers run in the order of their registration.

// fields are the unexported fields that the package uses. If a fatal field is
// missing or has another type, Attach returns an error, because the extension
// could not work as documented. If another field is missing, Attach logs what
// is lost without it.
var fields = []struct {
	of    structure
	name  string
	want  reflect.Type
	fatal bool
	lost  string // what happens if the field is missing
}{
	{theBackend, "Client", reflect.TypeFor[*http.Client](), true,
		"a transport that is set later would bypass the extension"},
	{theBackend, "LimitRules", reflect.TypeFor[[]*colly.LimitRule](), true,
		"a transport that a clone sets later would bypass the extension"},
	{theBackend, "lock", reflect.TypeFor[*sync.RWMutex](), true,
		"LimitRules could not be read while another goroutine adds one"},
	{theRule, "waitChan", reflect.TypeFor[chan bool](), true,
		"a request would hold the slot of its LimitRule while it waits for its host"},
	{theCollector, "requestCallbacks", reflect.TypeFor[[]colly.RequestCallback](), false,
		"if a transport is set while requests are under way, one of them may be sent through it without a check of robots.txt; " +
			"and requests that were put back may be repeated later than necessary"},
	{theCollector, "errorCallbacks", reflect.TypeFor[[]colly.ErrorCallback](), false,
		"a Retry of a refused request in an OnError handler that was registered before Attach does not fail immediately, " +
			"and such a handler can follow the links of an error page whose nofollow directive is in its body"},
	{theCollector, "responseCallbacks", reflect.TypeFor[[]colly.ResponseCallback](), false,
		"an OnResponse handler that was registered before Attach can follow links with rel=nofollow, " +
			"and the links of a page whose nofollow directive or bot protection is in its body"},
	{theCollector, "requestHeadersCallbacks", reflect.TypeFor[[]colly.RequestCallback](), false,
		"if an OnRequestHeaders handler that was registered after Attach sets a client, the request fails with ErrBypassed"},
	{theCollector, "store", reflect.TypeFor[storage.Storage](), false,
		lostVisitedSet},
	{theRequest, "collector", reflect.TypeFor[*colly.Collector](), false,
		lostVisitedSet},
}

// lostVisitedSet is what happens if canReplaceVisitedSet returns false.
const lostVisitedSet = "Request.Visit of a nofollow link aborts the request without an error, and its URL counts as visited; " +
	"Extension.Visit and Follow also fetch robots.txt for URLs that the collector would not visit"

// A structure is one of colly's types that have these fields. Two more fields
// are fatal, but are not in fields because this package cannot name their
// types: Collector.backend, which is a pointer to a struct, and
// LimitRule.compiledGlob, which is an interface with the method Match.
type structure int

const (
	theBackend structure = iota
	theRule
	theCollector
	theRequest
)

// A layout describes which of the fields this version of colly lacks.
type layout struct {
	err     error             // not nil if a fatal field is missing
	missing map[string]string // what is lost without each other field that is missing, by its name
}

func (l layout) has(name string) bool { return l.missing[name] == "" }

// collyLayout is the layout of this version of colly. Tests replace it.
var collyLayout = sync.OnceValue(func() layout {
	return newLayout(
		reflect.TypeFor[colly.Collector](),
		reflect.TypeFor[colly.LimitRule](),
		reflect.TypeFor[colly.Request](),
	)
})

func newLayout(collector, rule, request reflect.Type) layout {
	pointer, ok := collector.FieldByName("backend")
	if !ok || !isPointerToStruct(pointer.Type) {
		return layout{err: unknown("the Collector has no backend that is a pointer to a struct")}
	}
	matcher, ok := rule.FieldByName("compiledGlob")
	if !ok || !isMatcher(matcher.Type) {
		return layout{err: unknown("a LimitRule has no compiledGlob that is an interface with Match")}
	}
	types := map[structure]reflect.Type{
		theBackend:   pointer.Type.Elem(),
		theRule:      rule,
		theCollector: collector,
		theRequest:   request,
	}
	l := layout{missing: make(map[string]string)}
	for _, f := range fields {
		if field, ok := types[f.of].FieldByName(f.name); ok && field.Type == f.want {
			continue
		}
		if f.fatal {
			return layout{err: unknown(fmt.Sprintf("%v.%s is missing or is not a %v: %s", types[f.of], f.name, f.want, f.lost))}
		}
		l.missing[f.name] = f.lost
	}
	return l
}

func isPointerToStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// isMatcher reports whether t is an interface that a ruleHook implements.
func isMatcher(t reflect.Type) bool {
	return t.Kind() == reflect.Interface && reflect.TypeFor[ruleHook]().Implements(t)
}

func unknown(difference string) error {
	return fmt.Errorf("collyrobots: this version of colly is not supported (%s): "+
		"use colly v2.3.0, or do without Attach: t, err := robotsmw.NewTransport(…), "+
		"then c.WithTransport(t) and c.SetRequestTimeout(0), and never set another transport, proxy or client", difference)
}

// A backend provides access to colly's backend, which a collector shares with
// its clones.
type backend struct {
	address unsafe.Pointer // of colly's backend
	client  **http.Client
	rules   *[]*colly.LimitRule
	lock    *sync.RWMutex // guards the rules
}

var errUninitialized = errors.New("collyrobots: the collector is nil or was not initialized: " +
	"create it with colly.NewCollector or Clone")

// findBackend returns a collector's backend. It returns an error if colly lacks
// a fatal field.
func findBackend(c *colly.Collector) (backend, error) {
	if err := collyLayout().err; err != nil {
		return backend{}, err
	}
	if c == nil {
		return backend{}, errUninitialized
	}
	shared := reflect.ValueOf(c).Elem().FieldByName("backend")
	if shared.IsNil() {
		return backend{}, errUninitialized
	}
	b := backend{
		address: shared.UnsafePointer(),
		client:  fieldByName[*http.Client](shared, "Client"),
		rules:   fieldByName[[]*colly.LimitRule](shared, "LimitRules"),
		lock:    *fieldByName[*sync.RWMutex](shared, "lock"),
	}
	if *b.client == nil || b.lock == nil {
		return backend{}, errUninitialized
	}
	return b, nil
}

// field returns a pointer to a field of a struct. The field may be unexported.
func field[T any](structure any, name string) *T {
	return fieldByName[T](reflect.ValueOf(structure), name)
}

func fieldByName[T any](pointer reflect.Value, name string) *T {
	return (*T)(unsafe.Pointer(pointer.Elem().FieldByName(name).UnsafeAddr()))
}

// requestHeadersHandlers returns a pointer to the OnRequestHeaders handlers of
// a collector, or nil if colly lacks the field.
func requestHeadersHandlers(c *colly.Collector) *[]colly.RequestCallback {
	if !collyLayout().has("requestHeadersCallbacks") {
		return nil
	}
	return field[[]colly.RequestCallback](c, "requestHeadersCallbacks")
}

// backendPointer returns a pointer to the field backend of a collector.
func backendPointer(c *colly.Collector) *unsafe.Pointer { return field[unsafe.Pointer](c, "backend") }

// onRequestFirst registers an OnRequest handler before those that the collector
// already has, or after them if colly lacks the field.
func onRequestFirst(c *colly.Collector, f colly.RequestCallback) {
	registerFirst(c, "requestCallbacks", f, c.OnRequest)
}

// onResponseFirst is like onRequestFirst for OnResponse.
func onResponseFirst(c *colly.Collector, f colly.ResponseCallback) {
	registerFirst(c, "responseCallbacks", f, c.OnResponse)
}

// hasResponseHandlers reports whether a collector has OnResponse handlers. It
// returns false if colly lacks the field.
func hasResponseHandlers(c *colly.Collector) bool {
	return collyLayout().has("responseCallbacks") && len(*field[[]colly.ResponseCallback](c, "responseCallbacks")) > 0
}

// onErrorFirst is like onRequestFirst for OnError.
func onErrorFirst(c *colly.Collector, f colly.ErrorCallback) {
	registerFirst(c, "errorCallbacks", f, c.OnError)
}

// registerFirst registers a handler before those in a field of the collector,
// or calls registerLast if colly lacks the field. It replaces the slice and
// does not shift its elements, because one of the handlers may be running.
func registerFirst[F any](c *colly.Collector, name string, f F, registerLast func(F)) {
	if !collyLayout().has(name) {
		registerLast(f)
		return
	}
	handlers := field[[]F](c, name)
	*handlers = slices.Concat([]F{f}, *handlers)
}

// hasRequestHandler reports whether a collector has an OnRequest handler with
// the same code as f. It returns false if colly lacks the field.
func hasRequestHandler(c *colly.Collector, f colly.RequestCallback) bool {
	if !collyLayout().has("requestCallbacks") {
		return false
	}
	code := reflect.ValueOf(f).Pointer()
	return slices.ContainsFunc(*field[[]colly.RequestCallback](c, "requestCallbacks"), func(f colly.RequestCallback) bool {
		return reflect.ValueOf(f).Pointer() == code
	})
}

// canReplaceVisitedSet reports whether a Request can be given another collector
// with another visited set, that is, whether visitedSet and requestCollector
// may be called.
func canReplaceVisitedSet() bool { return collyLayout().has("store") && collyLayout().has("collector") }

// visitedSet returns a pointer to the visited set of a collector.
func visitedSet(c *colly.Collector) *storage.Storage { return field[storage.Storage](c, "store") }

// requestCollector returns a pointer to the collector of a request, which makes
// the request and all requests that are made from it.
func requestCollector(r *colly.Request) **colly.Collector {
	return field[*colly.Collector](r, "collector")
}

// ruleSlots returns a pointer to the channel of a LimitRule. A request acquires
// a slot by sending to the channel.
func ruleSlots(rule *colly.LimitRule) *chan bool { return field[chan bool](rule, "waitChan") }

// rawBytes returns the memory of a value.
func rawBytes[T any](value *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(value)), unsafe.Sizeof(*value))
}

// A ruleHook is the matcher of a LimitRule before all others. Colly calls it
// for each request, in the request's goroutine, before it reads the client. At
// that time, colly holds the lock of the rules for reading. A ruleHook must
// return true, so that colly obeys none of the other rules.
type ruleHook interface{ Match(domain string) bool }

// endlessSlots returns a channel on which sends never block, and which uses no
// memory for its elements. A chan bool would need one byte for each concurrent
// request. The element size of a channel is determined when it is made, so
// colly's sends to this channel copy no bytes.
func endlessSlots() chan bool {
	slots := make(chan struct{}, math.MaxInt)
	return *(*chan bool)(unsafe.Pointer(&slots))
}

// installHook adds a LimitRule with the matcher h before all others.
func (b backend) installHook(h ruleHook) {
	own := new(colly.LimitRule)
	ruleMatcher(own).Set(reflect.ValueOf(h))
	*ruleSlots(own) = endlessSlots()
	b.lock.Lock()
	defer b.lock.Unlock()
	*b.rules = slices.Insert(*b.rules, 0, own)
}

// firstMatcher returns the matcher of the first LimitRule, which is the
// ruleHook if there is one. It returns nil if there is no rule.
func (b backend) firstMatcher() any {
	b.lock.RLock()
	defer b.lock.RUnlock()
	if len(*b.rules) == 0 {
		return nil
	}
	return ruleMatcher((*b.rules)[0]).Interface()
}

// removeHook removes the LimitRule of installHook.
func (b backend) removeHook() {
	b.lock.Lock()
	defer b.lock.Unlock()
	*b.rules = slices.Delete(slices.Clone(*b.rules), 0, 1)
}

func ruleMatcher(rule *colly.LimitRule) reflect.Value {
	v := reflect.ValueOf(rule).Elem().FieldByName("compiledGlob")
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}
