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

// This file is the only one that knows colly's unexported fields. All clones of
// a collector share a backend, which has the http.Client and the LimitRules.
// Colly has no getter for either. SetProxy, SetProxyFunc, SetClient,
// WithTransport and Appengine change the client or its transport without a
// notice. This file would not be needed if colly had three more methods: a
// getter for the client, a getter for the LimitRules, and a SetTransport that
// callbacks cannot bypass.
//
// Besides, the package relies on the order of colly's calls. TestCollyOrder
// fails if colly changes it:
//
//  1. Request.Retry and Request.Do rewind the body by Seek before all else.
//  2. The visited set is checked last, after the depth, MaxRequests and the
//     filters. A URL that is refused there stays unvisited.
//  3. OnRequest handlers run in the order of their registration, in the
//     goroutine of the request, before colly looks into its cache directory.
//  4. LimitRules are matched before the OnRequestHeaders handlers run, in the
//     goroutine of the request. Only the first that matches counts.
//  5. The client is read after the OnRequestHeaders handlers, which run in the
//     order of their registration.
//  6. The client gets the cookies before it reads its transport.
//  7. OnResponse and OnError handlers run in the order of their registration.

// fields are the unexported fields that the package uses. If colly lacks one of
// the fatal ones, or one has another type, a promise would be broken, and
// Attach returns an error. Without one of the others, Attach logs what is lost.
var fields = []struct {
	of    structure
	name  string
	want  reflect.Type
	fatal bool
	lost  string // what the package cannot do without the field
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
		"if a transport is set while requests are under way, one of them may be sent by it without a check of robots.txt; " +
			"and what is put back may be repeated later than it could be"},
	{theCollector, "errorCallbacks", reflect.TypeFor[[]colly.ErrorCallback](), false,
		"a Retry of a refused request in an OnError handler that was registered before Attach is not ended"},
	{theCollector, "responseCallbacks", reflect.TypeFor[[]colly.ResponseCallback](), false,
		"an OnResponse handler that was registered before Attach can follow links with rel=nofollow, " +
			"and the links of a page whose nofollow directive or bot protection is in its body"},
	{theCollector, "requestHeadersCallbacks", reflect.TypeFor[[]colly.RequestCallback](), false,
		"if an OnRequestHeaders handler that was registered after Attach sets a client, the request fails with ErrBypassed"},
	{theCollector, "store", reflect.TypeFor[storage.Storage](), false,
		"Request.Visit of a nofollow link aborts the request without an error, and its URL counts as visited; " +
			"Extension.Visit and Follow fetch robots.txt also for URLs that the collector would not visit"},
	{theRequest, "collector", reflect.TypeFor[*colly.Collector](), false, "the same as without the store"},
}

// A structure is one of colly's types that have these fields. Two more fields
// cannot be described by a type, and are fatal: Collector.backend, which is a
// pointer to a struct, and LimitRule.compiledGlob, which is an interface with
// the method Match.
type structure int

const (
	theBackend structure = iota
	theRule
	theCollector
	theRequest
)

// A layout contains which of the fields this version of colly has.
type layout struct {
	err     error             // a fatal one is missing
	missing map[string]string // of the others, those that are missing, with what is lost
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
			return layout{err: unknown(fmt.Sprintf("%v.%s is missing or no %v: %s", types[f.of], f.name, f.want, f.lost))}
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
	return fmt.Errorf("collyrobots: Attach does not know this version of colly (%s): "+
		"use colly v2.3.0, or do without Attach: t, err := robotsmw.NewTransport(…), "+
		"then c.WithTransport(t) and c.SetRequestTimeout(0), and never set another transport, proxy or client", difference)
}

// backend gives access to the backend that some collectors share.
type backend struct {
	client **http.Client
	rules  *[]*colly.LimitRule
	lock   *sync.RWMutex // guards the rules
}

var errUninitialized = errors.New("collyrobots: the collector is nil or was not initialized: " +
	"make it with colly.NewCollector or Clone")

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
		client: fieldByName[*http.Client](shared, "Client"),
		rules:  fieldByName[[]*colly.LimitRule](shared, "LimitRules"),
		lock:   *fieldByName[*sync.RWMutex](shared, "lock"),
	}
	if *b.client == nil || b.lock == nil {
		return backend{}, errUninitialized
	}
	return b, nil
}

// field returns where a struct has a field, which may be unexported.
func field[T any](structure any, name string) *T {
	return fieldByName[T](reflect.ValueOf(structure), name)
}

func fieldByName[T any](pointer reflect.Value, name string) *T {
	return (*T)(unsafe.Pointer(pointer.Elem().FieldByName(name).UnsafeAddr()))
}

// requestHeadersHandlers returns where a collector has its OnRequestHeaders
// handlers, or nil if that is not known.
func requestHeadersHandlers(c *colly.Collector) *[]colly.RequestCallback {
	if !collyLayout().has("requestHeadersCallbacks") {
		return nil
	}
	return field[[]colly.RequestCallback](c, "requestHeadersCallbacks")
}

// backendPointer returns where a collector has the address of its backend.
func backendPointer(c *colly.Collector) *unsafe.Pointer { return field[unsafe.Pointer](c, "backend") }

// onRequestFirst registers a handler before those that the collector has
// already, or after them if that is not known.
func onRequestFirst(c *colly.Collector, f colly.RequestCallback) {
	registerFirst(c, "requestCallbacks", f, c.OnRequest)
}

// onResponseFirst is like onRequestFirst for OnResponse.
func onResponseFirst(c *colly.Collector, f colly.ResponseCallback) {
	registerFirst(c, "responseCallbacks", f, c.OnResponse)
}

// hasResponseHandlers reports whether a collector has OnResponse handlers. It
// returns false if that is not known.
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

// canReplaceVisitedSet reports whether a Request can be given another collector
// with another visited set, that is, whether visitedSet and requestCollector
// may be called.
func canReplaceVisitedSet() bool { return collyLayout().has("store") && collyLayout().has("collector") }

// visitedSet returns where a collector has its visited set.
func visitedSet(c *colly.Collector) *storage.Storage { return field[storage.Storage](c, "store") }

// requestCollector returns where a request has the collector that makes it and
// all requests that are made from it.
func requestCollector(r *colly.Request) **colly.Collector {
	return field[*colly.Collector](r, "collector")
}

// ruleSlots returns where a LimitRule has its slots. A request takes one by
// sending.
func ruleSlots(rule *colly.LimitRule) *chan bool { return field[chan bool](rule, "waitChan") }

// rawBytes returns the bytes of a value.
func rawBytes[T any](value *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(value)), unsafe.Sizeof(*value))
}

// A ruleHook is the matcher of a LimitRule before all others. Colly calls it
// for each request, in the request's goroutine, before it reads the client. At
// that time, colly holds the lock of the rules for reading. A ruleHook must
// return true, so that colly obeys none of the other rules.
type ruleHook interface{ Match(domain string) bool }

// endlessSlots returns slots that are always free and take no memory. A chan
// bool would need a byte for each request that is under way at the same time.
// A channel copies as many bytes as the elements have for which it was made, so
// colly's sends to this one copy nothing.
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
