// Package sitemap reads sitemaps (https://www.sitemaps.org/protocol.html) as
// sites really publish them.
//
//	for entry, err := range sitemap.Read(resp.Body) {
//		if err != nil {
//			return err // the entries before the error are good
//		}
//		fmt.Println(entry.Loc, entry.LastMod, entry.Index)
//	}
//
// [Read] reads one file: a list of pages, or an index, whose entries are other
// sitemaps. [Walk] reads sitemaps and all that their indexes list. An [Entry]
// has the URL (Loc), when it was last changed (LastMod, a [time.Time]), and
// whether it is a sitemap instead of a page (Index).
//
// # A crawler
//
// This program fetches the pages in the sitemaps that a site's robots.txt
// names. It obeys robots.txt and waits a second or the Crawl-delay between the
// requests to a host, also for the sitemaps:
//
//	package main
//
//	import (
//		"context"
//		"errors"
//		"fmt"
//		"io"
//		"log"
//		"net/http"
//		"net/url"
//		"os"
//
//		"github.com/goodbots/courtesy/politeness"
//		"github.com/goodbots/courtesy/robotsmw"
//		"github.com/goodbots/courtesy/robotsmw/sitemap"
//	)
//
//	func main() {
//		transport, err := robotsmw.NewTransport(robotsmw.Options{
//			UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
//			Limiter:   &politeness.Limiter{}, // without it, nothing delays requests
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//		client := &http.Client{Transport: transport}
//		fetch := func(ctx context.Context, loc string) (io.ReadCloser, error) {
//			req, err := http.NewRequestWithContext(ctx, http.MethodGet, loc, nil)
//			if err != nil {
//				return nil, err
//			}
//			resp, err := client.Do(req)
//			if err != nil {
//				return nil, err
//			}
//			if resp.StatusCode != http.StatusOK {
//				resp.Body.Close()
//				return nil, errors.New(resp.Status)
//			}
//			return resp.Body, nil
//		}
//
//		ctx := context.Background()
//		site, err := url.Parse(os.Args[1]) // such as https://example.com/
//		if err != nil {
//			log.Fatal(err)
//		}
//		sitemaps, err := transport.Checker().Sitemaps(ctx, site)
//		if err != nil {
//			log.Fatal(err)
//		}
//		for entry, err := range sitemap.Walk(ctx, fetch, sitemaps...) {
//			if err != nil {
//				log.Printf("%s: %v", entry.Loc, err)
//				continue // Walk goes on with the next sitemap
//			}
//			page, err := fetch(ctx, entry.Loc)
//			if err != nil {
//				log.Printf("%s: %v", entry.Loc, err)
//				continue
//			}
//			n, err := io.Copy(io.Discard, page)
//			fmt.Println(entry.Loc, entry.LastMod.Format("2006-01-02"), n, err)
//			page.Close()
//		}
//	}
//
// # Forms
//
// A sitemap is one of these, plain or compressed with gzip:
//
//   - XML with the elements urlset and url, or sitemapindex and sitemap;
//   - RSS 2.0 or RSS 1.0, whose items have a link;
//   - Atom, whose entries have a link without rel, or with rel="alternate";
//   - text with one absolute URL in each line. Other lines are ignored.
//
// The elements of extensions, such as image:loc and video:content_loc, are not
// read, nor are alternate languages (xhtml:link).
//
// # Leniency
//
// Many sitemaps are no well-formed XML. Read gets what a reader of such a file
// would call its URLs:
//
//   - Bytes that are not in the declared charset become U+FFFD. UTF-8, UTF-16
//     with a byte order mark, ISO-8859-1 and Windows-1252 are decoded. In any
//     other charset, all that is not ASCII becomes U+FFFD, unless it is valid
//     UTF-8.
//   - Control characters are left out of URLs.
//   - & and < need no escape, and an entity that XML does not define is text.
//   - A URL may be in CDATA sections, and may have comments within.
//   - The version may be 1.1, and the namespace may be missing or wrong.
//   - End tags may be missing, and text may precede the first tag.
//
// A file that breaks off gives all complete entries. An error follows only if
// the reader or gzip returns one.
//
// # Limits
//
// The protocol allows [MaxURLs] entries and [MaxBytes] bytes in a file. Read
// stops there with an error, so that a hostile file costs little: it keeps only
// one entry in memory. Walk adds [MaxDepth] and [MaxSitemaps], and reads no
// more sitemaps when those that it knows have 32 MiB of URLs.
//
// # Politeness
//
// Each page and each sitemap should be fetched with the Transport of package
// robotsmw, because the rules of its own host apply to it. As long as a
// response body is open, its request counts as in flight. A crawler that allows
// one request at a time to a host would wait forever if it fetched a page while
// it reads the sitemap of the same host. Therefore, it should collect the
// entries and close the body first, as Walk does.
//
// The protocol wants a sitemap to list only URLs of its own host and below its
// own directory, unless a robots.txt names it. This package does not check
// that, because it does not know where a file came from.
package sitemap
