package webbotauth

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestDirectory(t *testing.T) {
	d := &Directory{Authority: "Bot.example:443", Keys: []ed25519.PrivateKey{newKey(t)}}
	tests := []struct {
		name, method, url string
		status            int
	}{
		{"GET", "GET", "https://bot.example" + DirectoryPath, 200},
		{"HEAD", "HEAD", "https://bot.example" + DirectoryPath, 200},
		{"the default port", "GET", "https://bot.example:443/", 200},
		{"a host in capitals", "GET", "https://BOT.example/", 200},
		{"another host", "GET", "https://other.example/", 421},
		{"a subdomain", "GET", "https://a.bot.example/", 421},
		{"another port", "GET", "https://bot.example:8443/", 421},
		{"another method", "POST", "https://bot.example/", 405},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			d.ServeHTTP(w, httptest.NewRequest(tt.method, tt.url, nil))
			if w.Code != tt.status {
				t.Fatalf("got the status %d and the body %q, want the status %d", w.Code, w.Body, tt.status)
			}
			if got := w.Header().Get("Allow"); tt.status == 405 && got != "GET, HEAD" {
				t.Errorf("got the Allow header %q, want %q", got, "GET, HEAD")
			}
			if tt.status != 200 {
				if w.Header().Get("Signature") != "" || strings.Contains(w.Body.String(), "keys\"") {
					t.Errorf("got the header %v and the body %q, want no signature and no keys", w.Header(), w.Body)
				}
				return
			}
			for _, name := range []string{
				"Content-Type",
				"Cache-Control",
				"Content-Digest",
				"Signature-Input",
				"Signature",
				"Content-Length",
			} {
				if w.Header().Get(name) == "" {
					t.Errorf("got no %s header, want one", name)
				}
			}
		})
	}
}

func TestDirectory_Misconfigured(t *testing.T) {
	key := newKey(t)
	keys := []ed25519.PrivateKey{key}
	many := make([]ed25519.PrivateKey, 11)
	for i := range many {
		many[i] = newKey(t)
	}
	tests := []struct {
		name string
		d    *Directory
		want string
	}{
		{"no authority", &Directory{Keys: keys}, "Authority"},
		{"a URL", &Directory{Authority: "https://bot.example", Keys: keys}, "set a host only"},
		{"a host that cannot be sent", &Directory{Authority: "xn--ü", Keys: keys}, "the host"},
		{"no keys", &Directory{Authority: "bot.example"}, "is empty"},
		{"eleven", &Directory{Authority: "bot.example", Keys: many}, "has 11 keys"},
		{
			name: "one twice",
			d:    &Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{key, key}},
			want: "key 2 is a duplicate",
		},
		{
			name: "half a key",
			d:    &Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{key, key[:32]}},
			want: "key 2: the key does not have the size",
		},
		{
			name: "a test key",
			d:    &Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{testKey(t)}},
			want: "test key",
		},
		{
			name: "no time",
			d:    &Directory{Authority: "bot.example", Keys: keys, Validity: time.Second},
			want: "Validity",
		},
		{
			name: "a negative time",
			d:    &Directory{Authority: "bot.example", Keys: keys, Validity: -time.Hour},
			want: "Validity",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := tt.d.Response(time.Now())
			if err == nil || !strings.HasPrefix(err.Error(), "webbotauth: ") {
				t.Fatalf("Response returns the error %v, want one of webbotauth", err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Response returns the error %v, want one that contains %q", err, tt.want)
			}
			checkSecret(t, err.Error(), key, nil)
			w := httptest.NewRecorder()
			tt.d.ServeHTTP(w, httptest.NewRequest("GET", "https://bot.example/", nil))
			if w.Code != 500 || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("got the status %d and the body %q, want the status 500 and a body with %q",
					w.Code, w.Body, tt.want)
			}
		})
	}
}

// TestDirectory_Caching checks that a response may not be cached for longer
// than its signatures are valid.
func TestDirectory_Caching(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for validity, want := range map[time.Duration]string{
		0:                "max-age=3600",
		30 * time.Minute: "max-age=900",
		2 * time.Second:  "max-age=1",
		720 * time.Hour:  "max-age=3600",
	} {
		d := &Directory{
			Authority: "bot.example",
			Keys:      []ed25519.PrivateKey{newKey(t)},
			Validity:  validity,
		}
		header, _, err := d.Response(now)
		if err != nil || header.Get("Cache-Control") != want {
			t.Errorf("with a validity of %v: got Cache-Control: %s and the error %v, want %s",
				validity, header.Get("Cache-Control"), err, want)
		}
		inputs, ok := dictionaryField(header, "Signature-Input")
		if !ok {
			t.Fatalf("got the header %v, want one with a Signature-Input", header)
		}
		if validity == 0 {
			validity = 24 * time.Hour
		}
		expires, ok := dateParam(inputs[0], "expires")
		if !ok || !expires.Equal(now.Add(validity)) {
			t.Errorf("the signature expires at %v, want %v", expires, now.Add(validity))
		}
	}
}

// A keyring fetches keys as draft section 5.5 requires of a verifier. It keeps
// the keys of an agent's directory for one hour. It fetches the directory again
// only after this hour, even if the keyid is unknown.
type keyring struct {
	base http.RoundTripper

	mu    sync.Mutex
	keys  map[string]ed25519.PublicKey
	until time.Time
}

func (k *keyring) key(ctx context.Context, id string) (ed25519.PublicKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Now().Before(k.until) {
		return k.keys[id], nil
	}
	keys, problems := CheckDirectory(ctx, k.base, "https://bot.example"+DirectoryPath)
	if len(problems) > 0 {
		return nil, fmt.Errorf("CheckDirectory reports the problems %q, want none", problems)
	}
	k.keys = make(map[string]ed25519.PublicKey)
	for _, key := range keys {
		k.keys[key.ID] = key.public
	}
	k.until = time.Now().Add(time.Hour)
	return k.keys[id], nil
}

// The crawler changes its keys while requests are under way. The signature of
// every request can be verified.
func TestRotation_UnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := []ed25519.PrivateKey{newKey(t), newKey(t), newKey(t)}
		var web robotstest.Internet
		ring := &keyring{base: &web}
		var directory atomic.Pointer[Directory]
		var signer atomic.Pointer[Transport]
		publish := func(keys ...ed25519.PrivateKey) {
			directory.Store(&Directory{Authority: "bot.example", Keys: keys})
		}
		use := func(key ed25519.PrivateKey) {
			signer.Store(&Transport{
				Base:  &web,
				Key:   key,
				Agent: "https://bot.example" + DirectoryPath,
			})
		}
		var used sync.Map
		web.Handle("bot.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { directory.Load().ServeHTTP(w, r) }))
		web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(4 * time.Minute) // a slow network: the signature is valid for one minute more
			m := signatureInput.FindStringSubmatch(r.Header.Get("Signature-Input"))
			if m == nil {
				t.Errorf("got a request with the header %v, want a signature", r.Header)
				return
			}
			public, err := ring.key(r.Context(), m[4])
			if err != nil || public == nil {
				t.Errorf("at %v: got the error %v for the key %s, want the key", time.Now(), err, m[4])
				return
			}
			_, expires, err := verified(r, public)
			if err != nil || time.Now().After(expires) {
				t.Errorf("at %v: got the error %v and a signature that expires at %v, want a valid one",
					time.Now(), err, expires)
			}
			used.Store(m[4], true)
		}))

		publish(keys[0])
		use(keys[0])
		ctx, stop := context.WithCancel(t.Context())
		var load sync.WaitGroup
		for i := range 8 {
			load.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				for ctx.Err() == nil {
					resp, err := signer.Load().RoundTrip(httptest.NewRequestWithContext(t.Context(), "GET", "https://a.example/", nil))
					if err != nil {
						t.Error(err)
						return
					}
					resp.Body.Close()
					time.Sleep(17 * time.Second)
				}
			})
		}
		for i := range keys[1:] {
			time.Sleep(3 * time.Hour)
			publish(keys[i], keys[i+1])
			time.Sleep(time.Hour) // until the old answer has left the caches
			use(keys[i+1])
			time.Sleep(10 * time.Minute) // until the last old signature has expired
			publish(keys[i+1])
		}
		time.Sleep(3 * time.Hour)
		stop()
		load.Wait()
		for i, key := range keys {
			if _, ok := used.Load(KeyID(publicKey(key))); !ok {
				t.Errorf("key %d verified no signature, want at least one", i+1)
			}
		}
	})
}

// TestConcurrentUse signs requests and checks a directory at the same time, for
// the race detector.
func TestConcurrentUse(t *testing.T) {
	key := newKey(t)
	var web robotstest.Internet
	d := &Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{key, newKey(t)}}
	web.Handle("bot.example", d)
	web.Handle("a.example", verifier(publicKey(key)))
	transport := &Transport{Base: &web, Key: key, Agent: testAgent}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			status, body := get(t, transport, "GET", "https://a.example/"+strconv.Itoa(i), nil)
			if status != 200 {
				t.Errorf("the signed request got the status %d and the body %q, want the status 200", status, body)
			}
			keys, problems := CheckDirectory(t.Context(), &web, "https://bot.example"+DirectoryPath)
			if len(keys) != 2 || len(problems) > 0 {
				t.Errorf("CheckDirectory = %+v, %q, want 2 keys and no problem", keys, problems)
			}
		})
	}
	all.Wait()
}

// TestDirectory_Response checks that CheckDirectory finds no problem if a
// server sends the header fields and the body from Response unchanged.
func TestDirectory_Response(t *testing.T) {
	d := &Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{newKey(t), newKey(t)}}
	header, body, err := d.Response(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var set struct{ Keys []map[string]string }
	if err := json.Unmarshal(body, &set); err != nil || len(set.Keys) != 2 {
		t.Fatalf("got the body %s with the error %v, want 2 keys", body, err)
	}
	for i, key := range set.Keys {
		if key["kid"] != KeyID(publicKey(d.Keys[i])) || key["d"] != "" || len(key) != 5 {
			t.Errorf("got key %d as %v, want the 5 members of a public key", i+1, key)
		}
	}
	var web robotstest.Internet
	web.Handle("bot.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.Write(body)
	}))
	keys, problems := CheckDirectory(t.Context(), &web, "https://bot.example"+DirectoryPath)
	if len(problems) > 0 || len(keys) != 2 {
		t.Errorf("CheckDirectory = %+v, %q, want 2 keys and no problem", keys, problems)
	}
}
