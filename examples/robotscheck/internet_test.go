package main

import (
	"compress/gzip"
	"crypto/ed25519"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

// internet returns an internet with a host for each kind of response to a
// request for robots.txt, and hosts for the commands page and identity.
func internet() *robotstest.Internet {
	web := new(robotstest.Internet)
	page := func(w http.ResponseWriter, body string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, body)
	}
	site := http.NewServeMux()
	site.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "User-agent: *\nDisallow: /private/\nContent-Signal: search=yes, ai-train=no\n")
	})
	site.HandleFunc("/page.html", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("X-Robots-Tag", "ExampleBot: noarchive")
		page(w, `<title>A page</title><a href="/private/">private</a> <a href="/open.html">open</a>`)
	})
	site.HandleFunc("/open.html", func(w http.ResponseWriter, _ *http.Request) { page(w, "<title>Another</title>") })
	site.HandleFunc("/long.html", func(w http.ResponseWriter, _ *http.Request) {
		page(w, "<title>Long</title>"+strings.Repeat(" ", 256<<10)+"<meta name=robots content=noindex>")
	})
	site.Handle("/moved.html", http.RedirectHandler("/open.html", http.StatusFound))
	site.HandleFunc("/coded.html", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		page(w, "?")
	})
	site.HandleFunc("/broken.html", func(w http.ResponseWriter, _ *http.Request) {
		page(w, "<title>Half a")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	site.HandleFunc("/picture.html", func(w http.ResponseWriter, _ *http.Request) { page(w, "\x89PNG\r\n\x1a\n") })
	site.HandleFunc("/whoami.txt", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Robots-Tag", "nofollow")
		io.WriteString(w, r.UserAgent())
	})
	web.Handle("site.example", site)
	terms := http.NewServeMux()
	terms.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "License: https://terms.example/license.xml\nLicense: /gone.xml\nUser-agent: *\nDisallow: /private/\n")
	})
	terms.HandleFunc("/license.xml", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `<rsl xmlns="https://rslstandard.org/rsl">
<content url="/">
<license><permits type="usage">search</permits><prohibits type="usage">ai-train</prohibits></license>
<license><permits type="usage">ai-input</permits><payment type="use"/></license>
</content></rsl>`)
	})
	terms.HandleFunc("/page.html", func(w http.ResponseWriter, _ *http.Request) { page(w, "<title>A page</title>") })
	terms.HandleFunc("/marked.html", func(w http.ResponseWriter, _ *http.Request) {
		page(w, `<title>Making sure</title><script id="anubis_challenge" type="application/json">{}</script>`)
	})
	terms.HandleFunc("/paid.html", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Crawler-Price", "USD 0.01")
		w.WriteHeader(http.StatusPaymentRequired)
	})
	web.Handle("terms.example", terms)
	many := http.NewServeMux()
	many.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "License: ftp://many.example/0.xml\n")
		for n := range 4 {
			fmt.Fprintf(w, "License: https://many.example/%d.xml\n", n+1)
		}
	})
	many.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { page(w, "<title>Front</title>") })
	web.Handle("many.example", many)
	web.Handle("large.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "User-agent: *\nDisallow: /a\n#"+strings.Repeat("x", 600<<10))
	}))
	web.Handle("missing.example", http.NotFoundHandler())
	web.Handle("down.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	web.Handle("coded.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "User-agent: *\nDisallow: /private/\n")
		z.Close()
	}))
	web.Handle("moved.example", http.RedirectHandler("https://site.example/robots.txt", http.StatusMovedPermanently))
	web.Handle("named.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.UserAgent(), "ExampleBot/") {
			io.WriteString(w, "User-agent: *\nDisallow:\n")
			return
		}
		io.WriteString(w, "User-agent: *\nDisalow: /\n")
	}))
	web.Handle("bot.example", &webbotauth.Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{botKey()}})
	web.Handle("copied.example", &webbotauth.Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{botKey()}})
	return web
}

// botKey returns the same key each time, so that transcripts stay the same.
func botKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat("bot.example ", 3))[:ed25519.SeedSize])
}
