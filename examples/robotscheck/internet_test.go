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
	web.Handle("site.example", site())
	web.Handle("terms.example", siteWithTerms())
	web.Handle("many.example", siteWithManyTerms())
	web.Handle("large.example",
		plainText("User-agent: *\nDisallow: /a\n#"+strings.Repeat("x", 600<<10)))
	web.Handle("missing.example", http.NotFoundHandler())
	web.Handle("down.example", robotstest.Status(http.StatusServiceUnavailable))
	web.Handle("coded.example", http.HandlerFunc(serveCompressed))
	web.Handle("moved.example",
		http.RedirectHandler("https://site.example/robots.txt", http.StatusMovedPermanently))
	web.Handle("named.example", http.HandlerFunc(serveByUserAgent))
	directory := &webbotauth.Directory{
		Authority: "bot.example",
		Keys:      []ed25519.PrivateKey{botKey()},
	}
	web.Handle("bot.example", directory)
	web.Handle("copied.example", directory)
	return web
}

// plainText serves a text without a Content-Type.
func plainText(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
}

// htmlPage serves an HTML page with header fields, which are names and values.
func htmlPage(body string, header ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		io.WriteString(w, body)
	})
}

// site has pages of each kind.
func site() http.Handler {
	longPage := "<title>Long</title>" + strings.Repeat(" ", 256<<10) +
		"<meta name=robots content=noindex>"
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", plainText("User-agent: *\nDisallow: /private/\n"+
		"Content-Signal: search=yes, ai-train=no\n"))
	mux.Handle("/page.html", htmlPage(
		`<title>A page</title><a href="/private/">private</a> <a href="/open.html">open</a>`,
		"X-Robots-Tag", "ExampleBot: noarchive"))
	mux.Handle("/open.html", htmlPage("<title>Another</title>"))
	mux.Handle("/long.html", htmlPage(longPage))
	mux.Handle("/moved.html", http.RedirectHandler("/open.html", http.StatusFound))
	mux.Handle("/coded.html", htmlPage("?", "Content-Encoding", "br"))
	mux.HandleFunc("/broken.html", func(w http.ResponseWriter, r *http.Request) {
		htmlPage("<title>Half a").ServeHTTP(w, r)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.Handle("/picture.html", htmlPage("\x89PNG\r\n\x1a\n"))
	mux.HandleFunc("/whoami.txt", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Robots-Tag", "nofollow")
		io.WriteString(w, r.UserAgent())
	})
	return mux
}

// siteWithTerms has an RSL file, and pages of bot protection.
func siteWithTerms() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", plainText("License: https://terms.example/license.xml\n"+
		"License: /gone.xml\n"+
		"User-agent: *\nDisallow: /private/\n"))
	mux.Handle("/license.xml", plainText(`<rsl xmlns="https://rslstandard.org/rsl">
<content url="/">
`+
		`<license><permits type="usage">search</permits>`+
		`<prohibits type="usage">ai-train</prohibits></license>
`+
		`<license><permits type="usage">ai-input</permits><payment type="use"/></license>
</content></rsl>`))
	mux.Handle("/page.html", htmlPage("<title>A page</title>"))
	mux.Handle("/marked.html", htmlPage("<title>Making sure</title>"+
		`<script id="anubis_challenge" type="application/json">{}</script>`))
	mux.HandleFunc("/paid.html", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Crawler-Price", "USD 0.01")
		w.WriteHeader(http.StatusPaymentRequired)
	})
	return mux
}

// siteWithManyTerms has more License lines than robotscheck page reads.
func siteWithManyTerms() http.Handler {
	robotsTxt := "License: ftp://many.example/0.xml\n"
	for n := range 4 {
		robotsTxt += fmt.Sprintf("License: https://many.example/%d.xml\n", n+1)
	}
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", plainText(robotsTxt))
	mux.Handle("/{$}", htmlPage("<title>Front</title>"))
	return mux
}

// serveCompressed serves a robots.txt that is compressed with gzip.
func serveCompressed(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	io.WriteString(z, "User-agent: *\nDisallow: /private/\n")
	z.Close()
}

// serveByUserAgent serves a robots.txt of its own to ExampleBot.
func serveByUserAgent(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.UserAgent(), "ExampleBot/") {
		io.WriteString(w, "User-agent: *\nDisallow:\n")
		return
	}
	io.WriteString(w, "User-agent: *\nDisalow: /\n")
}

// botKey returns the same key each time, so that transcripts stay the same.
func botKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat("bot.example ", 3))[:ed25519.SeedSize])
}
