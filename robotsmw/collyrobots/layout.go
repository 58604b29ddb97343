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

var errUninitialized = errors.New("collyrobots: the collector was not initialized: make it with colly.NewCollector or Clone")

// backendOf returns a collector's backend. It fails if this version of colly
// does not have the fields that layout.go expects.
func backendOf(c *colly.Collector) (backend, error) {
	if err := known(); err != nil {
		return backend{}, err
	}
	return reach(c)
}

func reach(c *colly.Collector) (backend, error) {
	at := *field[unsafe.Pointer](c, inside.backend)
	if at == nil {
		return backend{}, errUninitialized
	}
	b := backend{
		client: (**http.Client)(unsafe.Add(at, inside.client)),
		rules:  (*[]*colly.LimitRule)(unsafe.Add(at, inside.rules)),
		lock:   *(**sync.RWMutex)(unsafe.Add(at, inside.lock)),
	}
	if *b.client == nil || b.lock == nil {
		return backend{}, errUninitialized
	}
	return b, nil
}

func headerCallbacks(c *colly.Collector) int {
	return len(*field[[]colly.RequestCallback](c, inside.headerCallbacks))
}

// beFirst registers callbacks before those that the collector has already.
func beFirst(c *colly.Collector, onRequest colly.RequestCallback, onError colly.ErrorCallback) {
	requests, errs := field[[]colly.RequestCallback](c, inside.requestCallbacks), field[[]colly.ErrorCallback](c, inside.errorCallbacks)
	*requests = slices.Insert(*requests, 0, onRequest)
	*errs = slices.Insert(*errs, 0, onError)
}

// storeOf returns where a collector has its visited set.
func storeOf(c *colly.Collector) *storage.Storage { return field[storage.Storage](c, inside.store) }

// ownerOf returns where a request has the collector that makes it and all
// requests that are made from it.
func ownerOf(r *colly.Request) **colly.Collector {
	return field[*colly.Collector](r, inside.owner)
}

// slotsOf returns the slots of a LimitRule. A request takes one by sending.
func slotsOf(rule *colly.LimitRule) chan bool { return *field[chan bool](rule, inside.slots) }

// sameFunc reports whether two values are the same closure.
func sameFunc(a, b func(*http.Request, []*http.Request) error) bool {
	return *(*unsafe.Pointer)(unsafe.Pointer(&a)) == *(*unsafe.Pointer)(unsafe.Pointer(&b))
}

// field returns a pointer to the field at an offset in a struct.
func field[F, S any](s *S, offset uintptr) *F { return (*F)(unsafe.Add(unsafe.Pointer(s), offset)) }

// A gate owns the first LimitRule of a backend. Each request of the backend's
// collectors passes the gate before colly looks at the other LimitRules and
// reads the client.
type gate struct {
	keeper keeper
	rules  *[]*colly.LimitRule
	own    *colly.LimitRule
}

// A keeper is called by its gate for each request. The method pass gets the
// request's domain and the user's LimitRules. If pass returns true, colly obeys
// none of these rules. pass must widen the gate before it first returns true.
type keeper interface {
	pass(g *gate, domain string, rules []*colly.LimitRule) bool
}

func openGate(b backend, k keeper) {
	g := &gate{keeper: k, rules: b.rules, own: new(colly.LimitRule)}
	g.glob().Set(reflect.ValueOf(g))
	b.lock.Lock()
	defer b.lock.Unlock()
	*b.rules = append([]*colly.LimitRule{g.own}, *b.rules...)
}

func keeperOf(b backend) keeper {
	b.lock.RLock()
	defer b.lock.RUnlock()
	for _, r := range *b.rules {
		if g, ok := (&gate{own: r}).glob().Interface().(*gate); ok {
			return g.keeper
		}
	}
	return nil
}

// glob returns the field that has the matcher of the gate's rule. Colly asks
// the matcher whether the rule applies to a request.
func (g *gate) glob() reflect.Value {
	return reflect.NewAt(inside.globType, unsafe.Add(unsafe.Pointer(g.own), inside.glob)).Elem()
}

// Match asks the keeper. Colly calls Match for each request, in the request's
// goroutine. At that time, Colly holds the lock of the rules for reading.
func (g *gate) Match(domain string) bool {
	return g.keeper.pass(g, domain, (*g.rules)[1:])
}

// room is how many requests may pass a widened gate at the same time. Such a
// gate takes 256 KiB of memory, a byte for each of these requests.
const room = 1 << 18

// widen makes room at the gate. Only one goroutine may call it at a time.
func (g *gate) widen() {
	*field[chan bool](g.own, inside.slots) = make(chan bool, room)
}

// The variable "inside" says where colly has its fields. The function "known"
// sets it.
var inside fields

type fields struct {
	backend, headerCallbacks, requestCallbacks, errorCallbacks, store uintptr // in a Collector
	client, rules, lock                                               uintptr // in its backend
	glob, slots                                                       uintptr // in a LimitRule
	owner                                                             uintptr // in a Request
	globType                                                          reflect.Type
}

// The function "known" returns nil if colly has the expected fields and
// behaviour. Otherwise the error says what is different.
var known = sync.OnceValue(func() error {
	var err error
	if inside, err = findFields(reflect.TypeFor[colly.Collector](), reflect.TypeFor[colly.LimitRule](), reflect.TypeFor[colly.Request]()); err == nil {
		err = tryGate()
	}
	return unknown(err)
})

// The function "unknown" wraps err in an error that says what to write instead
// of Attach. It returns nil if err is nil.
func unknown(err error) error {
	if err != nil {
		return fmt.Errorf("collyrobots: Attach does not know this version of colly, so it could not keep what is set later from "+
			"getting round it (%w): use colly v2.3.0, or do without Attach: t, err := robotsmw.NewTransport(…), then "+
			"c.WithTransport(t) and c.SetRequestTimeout(0), and never set another transport, proxy or client", err)
	}
	return nil
}

func findFields(collector, rule, request reflect.Type) (at fields, err error) {
	pointer, ok := collector.FieldByName("backend")
	if !ok || pointer.Type.Kind() != reflect.Pointer || pointer.Type.Elem().Kind() != reflect.Struct {
		return at, errors.New("the Collector has no backend that is a pointer to a struct")
	}
	at.backend = pointer.Offset
	shared := pointer.Type.Elem()
	for _, f := range []struct {
		in   reflect.Type
		name string
		want reflect.Type
		to   *uintptr
	}{
		{collector, "requestHeadersCallbacks", reflect.TypeFor[[]colly.RequestCallback](), &at.headerCallbacks},
		{collector, "requestCallbacks", reflect.TypeFor[[]colly.RequestCallback](), &at.requestCallbacks},
		{collector, "errorCallbacks", reflect.TypeFor[[]colly.ErrorCallback](), &at.errorCallbacks},
		{collector, "store", reflect.TypeFor[storage.Storage](), &at.store},
		{request, "collector", reflect.TypeFor[*colly.Collector](), &at.owner},
		{shared, "Client", reflect.TypeFor[*http.Client](), &at.client},
		{shared, "LimitRules", reflect.TypeFor[[]*colly.LimitRule](), &at.rules},
		{shared, "lock", reflect.TypeFor[*sync.RWMutex](), &at.lock},
		{rule, "waitChan", reflect.TypeFor[chan bool](), &at.slots},
	} {
		field, ok := f.in.FieldByName(f.name)
		if !ok || field.Type != f.want || len(field.Index) > 1 {
			return at, fmt.Errorf("%v.%s is missing or no %v", f.in, f.name, f.want)
		}
		*f.to = field.Offset
	}
	matcher, ok := rule.FieldByName("compiledGlob")
	if !ok || matcher.Type.Kind() != reflect.Interface || !reflect.TypeFor[*gate]().Implements(matcher.Type) {
		return at, errors.New("a LimitRule has no compiledGlob that is an interface with Match")
	}
	at.glob, at.globType = matcher.Offset, matcher.Type
	return at, nil
}

var errArrived = errors.New("collyrobots: arrived")

// tryGate tests whether colly works as expected. It sets a client on a clone,
// and makes a request with the clone. On the way, the request must pass a gate,
// which sets a second client. The request must then use the second client.
// Nothing is sent.
func tryGate() error {
	c := new(colly.Collector)
	c.Init()
	b, err := reach(c)
	if err != nil {
		return err
	}
	d := c.Clone()
	var passed, called bool
	openGate(b, keeperFunc(func(g *gate) {
		passed = !called
		g.widen()
		*b.client = &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, errArrived })}
	}))
	d.SetClient(&http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("a request goes past the LimitRules")
	})})
	d.OnRequestHeaders(func(*colly.Request) { called = headerCallbacks(d) == 1 })
	err = d.Visit("http://collector.invalid/")
	switch {
	case !errors.Is(err, errArrived):
		return fmt.Errorf("a request did not come where it should: %w", err)
	case !passed || !called:
		return errors.New("a request does not pass the LimitRules before OnRequestHeaders")
	}
	return nil
}

type keeperFunc func(g *gate)

func (f keeperFunc) pass(g *gate, _ string, _ []*colly.LimitRule) bool { f(g); return true }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
