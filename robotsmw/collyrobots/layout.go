package collyrobots

import (
	"errors"
	"fmt"
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
// WithTransport and Appengine change the client or its transport without
// telling anybody. This file would not be needed if colly had three more
// methods: a getter for the client, a getter for the LimitRules, and a
// SetTransport that callbacks cannot bypass.

// backend gives access to the backend that some collectors share.
type backend struct {
	client **http.Client
	rules  *[]*colly.LimitRule
	lock   *sync.RWMutex // guards the rules
}

var errUninitialized = errors.New("collyrobots: the collector is nil or was not initialized: make it with colly.NewCollector or Clone")

// backendOf returns a collector's backend. It fails if this version of colly
// has other fields than layout.go expects.
func backendOf(c *colly.Collector) (backend, error) {
	if err := known(); err != nil {
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
		client: fieldOf[*http.Client](shared, "Client"),
		rules:  fieldOf[[]*colly.LimitRule](shared, "LimitRules"),
		lock:   *fieldOf[*sync.RWMutex](shared, "lock"),
	}
	if *b.client == nil || b.lock == nil {
		return backend{}, errUninitialized
	}
	return b, nil
}

// field returns where a struct has a field, which may be unexported.
func field[T any](structure any, name string) *T {
	return fieldOf[T](reflect.ValueOf(structure), name)
}

func fieldOf[T any](pointer reflect.Value, name string) *T {
	return (*T)(unsafe.Pointer(pointer.Elem().FieldByName(name).UnsafeAddr()))
}

// headerCallbacksOf returns where a collector has its OnRequestHeaders
// handlers.
func headerCallbacksOf(c *colly.Collector) *[]colly.RequestCallback {
	return field[[]colly.RequestCallback](c, "requestHeadersCallbacks")
}

// backendAt returns where a collector has the address of its backend.
func backendAt(c *colly.Collector) *unsafe.Pointer { return field[unsafe.Pointer](c, "backend") }

// beFirst registers callbacks before those that the collector has already.
func beFirst(c *colly.Collector, onRequest colly.RequestCallback, onError colly.ErrorCallback) {
	requests, errs := field[[]colly.RequestCallback](c, "requestCallbacks"), field[[]colly.ErrorCallback](c, "errorCallbacks")
	*requests = slices.Insert(*requests, 0, onRequest)
	*errs = slices.Insert(*errs, 0, onError)
}

// storeOf returns where a collector has its visited set.
func storeOf(c *colly.Collector) *storage.Storage { return field[storage.Storage](c, "store") }

// ownerOf returns where a request has the collector that makes it and all
// requests that are made from it.
func ownerOf(r *colly.Request) **colly.Collector { return field[*colly.Collector](r, "collector") }

// slotsOf returns where a LimitRule has its slots. A request takes one by
// sending.
func slotsOf(rule *colly.LimitRule) *chan bool { return field[chan bool](rule, "waitChan") }

// memoryOf returns the bytes of a value.
func memoryOf[T any](value *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(value)), unsafe.Sizeof(*value))
}

// gate is the matcher of a LimitRule that stands before all others. Colly asks
// it about each request, in the request's goroutine, before it takes the
// client. At that time, colly holds the lock of the rules for reading. A gate
// must return true: colly then obeys none of the other rules.
type gate interface{ Match(domain string) bool }

// room is how many requests may pass a gate at the same time. The slots of a
// gate take a byte for each of these requests, 256 KiB.
const room = 1 << 18

func openGate(b backend, g gate) {
	own := new(colly.LimitRule)
	matcherOf(own).Set(reflect.ValueOf(g))
	*slotsOf(own) = make(chan bool, room)
	b.lock.Lock()
	defer b.lock.Unlock()
	*b.rules = slices.Insert(*b.rules, 0, own)
}

// gateOf returns the matcher of the first LimitRule, which is the gate if there
// is one. It returns nil if there is no rule.
func gateOf(b backend) any {
	b.lock.RLock()
	defer b.lock.RUnlock()
	if len(*b.rules) == 0 {
		return nil
	}
	return matcherOf((*b.rules)[0]).Interface()
}

func matcherOf(rule *colly.LimitRule) reflect.Value {
	v := reflect.ValueOf(rule).Elem().FieldByName("compiledGlob")
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

// known returns nil if colly has the expected fields. Otherwise the error says
// what is different, and what to write instead of Attach.
var known = sync.OnceValue(func() error {
	return checkFields(reflect.TypeFor[colly.Collector](), reflect.TypeFor[colly.LimitRule](), reflect.TypeFor[colly.Request]())
})

func checkFields(collector, rule, request reflect.Type) error {
	pointer, ok := collector.FieldByName("backend")
	if !ok || pointer.Type.Kind() != reflect.Pointer || pointer.Type.Elem().Kind() != reflect.Struct {
		return unknown("the Collector has no backend that is a pointer to a struct")
	}
	shared := pointer.Type.Elem()
	for _, f := range []struct {
		in   reflect.Type
		name string
		want reflect.Type
	}{
		{collector, "requestHeadersCallbacks", reflect.TypeFor[[]colly.RequestCallback]()},
		{collector, "requestCallbacks", reflect.TypeFor[[]colly.RequestCallback]()},
		{collector, "errorCallbacks", reflect.TypeFor[[]colly.ErrorCallback]()},
		{collector, "store", reflect.TypeFor[storage.Storage]()},
		{request, "collector", reflect.TypeFor[*colly.Collector]()},
		{shared, "Client", reflect.TypeFor[*http.Client]()},
		{shared, "LimitRules", reflect.TypeFor[[]*colly.LimitRule]()},
		{shared, "lock", reflect.TypeFor[*sync.RWMutex]()},
		{rule, "waitChan", reflect.TypeFor[chan bool]()},
	} {
		if field, ok := f.in.FieldByName(f.name); !ok || field.Type != f.want {
			return unknown(fmt.Sprintf("%v.%s is missing or no %v", f.in, f.name, f.want))
		}
	}
	matcher, ok := rule.FieldByName("compiledGlob")
	if !ok || matcher.Type.Kind() != reflect.Interface || !reflect.TypeFor[gate]().Implements(matcher.Type) {
		return unknown("a LimitRule has no compiledGlob that is an interface with Match")
	}
	return nil
}

func unknown(difference string) error {
	return fmt.Errorf("collyrobots: Attach does not know this version of colly, so it could not keep what is set later from "+
		"getting round it (%s): use colly v2.3.0, or do without Attach: t, err := robotsmw.NewTransport(…), then "+
		"c.WithTransport(t) and c.SetRequestTimeout(0), and never set another transport, proxy or client", difference)
}
