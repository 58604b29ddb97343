// Package pagelinks extracts the links of an HTML page and determines which of
// them a polite crawler may follow.
//
//	resp, err := client.Get("https://example.com/")
//	…
//	page, err := pagelinks.Read(ctx, resp, transport.Checker())
//	…
//	for _, u := range page.Queue() {
//		queue.Add(u)
//	}
//
// [Read] reads and closes the body of a response. [FromHTML] takes a page in
// memory.
//
// # Which links may be followed
//
// A link may be followed unless
//
//   - the page has the directive "nofollow" or "none", in its header or in a
//     meta element. The directive also applies to the refresh of the page;
//   - the link has rel="nofollow";
//   - robots.txt disallows the URL, or cannot be checked. This condition does
//     not apply if the Checker is nil.
//
// rel="ugc" and rel="sponsored" describe who placed a link, and do not exclude
// the link. Crawlers that want to skip such links can use [Link].Rel.
//
// If a page has several links to the same URL, [Page.Queue] includes the URL if
// any of them may be followed, because nofollow is about the link and not about
// its target.
//
// # What is a link
//
// Links are <a>, <area>, <iframe>, <frame>, and the first <meta
// http-equiv="refresh">, including those within <noscript>, but not those
// within <template>. URLs are resolved against the first <base href>, and
// fragments are removed. Links are omitted if their scheme is not http or
// https, or if net/url cannot parse them, such as "/50%-off".
//
// Because resolved URLs contain the base, a page with a long base could require
// much memory. If the base adds more than 64 MiB to the URLs of a page, the
// remaining links are omitted, and [Page].Truncated is true.
package pagelinks
