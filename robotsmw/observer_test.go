package robotsmw

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Every function of Observer goes through Join, those of later versions too.
func TestJoinHasEveryFunction(t *testing.T) {
	var called []string
	numbered := func(who string) *Observer {
		o := new(Observer)
		for field, f := range reflect.ValueOf(o).Elem().Fields() {
			f.Set(reflect.MakeFunc(field.Type, func([]reflect.Value) []reflect.Value {
				called = append(called, field.Name+who)
				return nil
			}))
		}
		return o
	}
	joined := reflect.ValueOf(Join(nil, numbered("1"), nil, numbered("2"), numbered("3"))).Elem()
	for field, f := range joined.Fields() {
		called = nil
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		for i := 1; i < field.Type.NumIn(); i++ {
			in = append(in, reflect.Zero(field.Type.In(i)))
		}
		f.Call(in)
		if want := []string{field.Name + "1", field.Name + "2", field.Name + "3"}; !slices.Equal(called, want) {
			t.Errorf("called %q, want %q", called, want)
		}
	}
}

func TestJoinLeavesOutWhatNobodyHas(t *testing.T) {
	if o := Join(); o != nil {
		t.Errorf("of none: %v", o)
	}
	if o := Join(nil, nil); o != nil {
		t.Errorf("of nil ones: %v", o)
	}
	one := &Observer{Decided: func(context.Context, Decision) {}}
	if o := Join(nil, one); o != one {
		t.Errorf("of one: %v", o)
	}
	o := Join(one, &Observer{Fetched: func(context.Context, Fetch) {}})
	if o.Decided == nil || o.Fetched == nil || o.Looked != nil || o.StoreFailed != nil {
		t.Errorf("of two with a function each: %+v", o)
	}
}

// deafStore fails at everything.
type deafStore struct{ Store }

func (deafStore) Get(context.Context, string) ([]byte, error) { return nil, errors.New("deaf") }

// What is observed of a request comes with the values of its context; a fetch
// belongs to nobody's request.
func TestObserversGetTheContextOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		type key struct{}
		got := make(chan [2]any, 10)
		note := func(what string, ctx context.Context) { got <- [2]any{what, ctx.Value(key{})} }
		tr := newTestTransport(t, &web, withStore(deafStore{new(memoryStore)}), func(o *Options) {
			o.Observer = &Observer{
				Decided:     func(ctx context.Context, _ Decision) { note("decided", ctx) },
				Fetched:     func(ctx context.Context, _ Fetch) { note("fetched", ctx) },
				Looked:      func(ctx context.Context, _ Lookup) { note("looked", ctx) },
				StoreFailed: func(ctx context.Context, op string, _ error) { note(op, ctx) },
			}
		})
		req, _ := http.NewRequestWithContext(context.WithValue(t.Context(), key{}, "mine"), "GET", "http://a.example/", nil)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		synctest.Wait()
		close(got)
		events := map[[2]any]bool{}
		for e := range got {
			events[e] = true
		}
		for _, want := range [][2]any{{"looked", "mine"}, {"decided", "mine"}, {"fetched", nil}, {"get", nil}} {
			if !events[want] {
				t.Errorf("no %v among %v", want, events)
			}
		}
	})
}

// Options.Logger says that blocked requests are logged at debug level.
func TestBlockedRequestsAreLogged(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robots(someRules))
	var buf bytes.Buffer
	tr := newTestTransport(t, &web, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	req, _ := http.NewRequest("GET", "http://a.example/private/", nil)
	tr.RoundTrip(req)
	if !strings.Contains(buf.String(), "/private/") {
		t.Errorf("not logged: %s", buf.String())
	}
}

// An Observer that panics turns a good robots.txt into an unreachable one.
func TestObserverPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		c := newTestTransport(t, &web, func(o *Options) { o.Observer = &Observer{Fetched: func(context.Context, Fetch) { panic("observer") }} }).Checker()
		if d := decide(t, c, "http://a.example/"); !d.Allowed {
			t.Errorf("wrongly blocked: %v", d)
		}
	})
}
