// Package sitemap reads sitemaps (https://www.sitemaps.org/protocol.html),
// including those that are not valid.
//
//	for entry, err := range sitemap.Read(resp.Body) {
//		if err != nil {
//			return err // the entries before the error are valid
//		}
//		fmt.Println(entry.Loc, entry.LastMod, entry.Index)
//	}
//
// [Read] reads one file: a list of pages, or an index, whose entries are other
// sitemaps. [Walk] reads sitemaps, and those that their indexes list. An
// [Entry] contains the URL (Loc), the time of its last change (LastMod), and
// whether it is a sitemap instead of a page (Index).
//
// # A crawler
//
// This program fetches the pages in the sitemaps that the robots.txt of a site
// lists. It obeys robots.txt, and waits for a second or the Crawl-delay between
// requests to a host, including those for sitemaps:
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
//			Limiter:   &politeness.Limiter{}, // without a Limiter, requests are not delayed
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
//				continue // Walk continues with the next sitemap
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
// # Formats
//
// A sitemap has one of these formats, and may be compressed with gzip:
//
//   - XML with the elements urlset and url, or sitemapindex and sitemap;
//   - RSS 2.0 or RSS 1.0, whose items have a link;
//   - Atom, whose entries have a link without rel, or with rel="alternate";
//   - text with one absolute URL in each line. Other lines are ignored.
//
// The elements of extensions, such as image:loc and video:content_loc, and
// alternate languages (xhtml:link) are ignored.
//
// # Leniency
//
// Many sitemaps are not well-formed XML. Read accepts the following mistakes:
//
//   - Bytes that are not in the declared charset become U+FFFD. UTF-8, UTF-16
//     with a byte order mark, ISO-8859-1 and Windows-1252 are decoded. In any
//     other charset, each sequence of bytes that is neither ASCII nor valid
//     UTF-8 becomes U+FFFD.
//   - Control characters are removed from URLs.
//   - & and < need not be escaped, and an entity that XML does not define is
//     text.
//   - A URL may be in CDATA sections, and may contain comments.
//   - The version may be 1.1, and the namespace may be missing or wrong.
//   - End tags may be missing, and text may precede the first tag.
//
// If the end of a file is missing, Read yields all complete entries. They are
// followed by an error only if the reader or the gzip decoder returns one.
//
// # Limits
//
// The protocol allows [MaxURLs] entries and [MaxBytes] bytes in a file. If a
// file exceeds a limit, Read yields an error. Read keeps only one entry in
// memory, which limits the cost of malicious files. Walk also has the limits
// [MaxDepth] and [MaxSitemaps], and a limit of 32 MiB for the URLs of sitemaps.
//
// # Politeness
//
// Each page and each sitemap should be fetched with the Transport of package
// robotsmw, because the rules of its host apply to it. A request is in flight
// until its body is closed. Therefore, a crawler that allows one request at a
// time to a host would deadlock if it fetched a page while it reads the sitemap
// of the same host. It should read all entries and close the body first, as
// Walk does.
//
// According to the protocol, a sitemap may list only URLs of its host and below
// its directory, unless a robots.txt lists the sitemap. This package does not
// check this rule, because it does not know which sitemaps are listed by a
// robots.txt.
package sitemap
