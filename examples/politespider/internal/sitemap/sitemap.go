// Package sitemap reads sitemaps (https://www.sitemaps.org/protocol.html). A
// sitemap is XML or lines of text, and may be compressed with gzip. Read never
// fails: from a truncated or malformed sitemap, it returns what it can read.
package sitemap

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"io"
)

// MaxURLs is how many URLs the protocol allows in a sitemap. Read ignores any
// further URLs.
const MaxURLs = 50_000

// maxBytes is the maximum size of a sitemap after decompression.
const maxBytes = 50 << 20

// maxLine is more bytes than a URL in a line of text may have. The protocol
// requires URLs to be shorter than 2,048 characters.
const maxLine = 64 << 10

// Read returns the URLs of the pages that a sitemap lists, as written. If the
// sitemap is an index, Read returns the URLs of the sitemaps that it lists.
func Read(body []byte) (urls, sitemaps []string) {
	if unpacked, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
		body, _ = io.ReadAll(io.LimitReader(unpacked, maxBytes)) // after an error, body has what was read
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return readText(body), nil
	}
	return readXML(body)
}

// readText reads a URL from each line. It skips lines that are too long.
func readText(text []byte) (urls []string) {
	for line := range bytes.Lines(text) {
		u := bytes.TrimSpace(line)
		if len(u) > 0 && len(u) < maxLine && len(urls) < MaxURLs {
			urls = append(urls, string(u))
		}
	}
	return urls
}

// readXML reads each loc element that is a child of a url or sitemap element.
// It skips the locs of images and videos.
func readXML(text []byte) (urls, sitemaps []string) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // URLs are ASCII, which most charsets include
	var path []string
	for len(urls)+len(sitemaps) < MaxURLs {
		token, err := d.Token()
		if err != nil {
			break
		}
		switch token := token.(type) {
		case xml.StartElement:
			path = append(path, token.Name.Local)
		case xml.EndElement:
			if len(path) > 0 {
				path = path[:len(path)-1]
			}
		case xml.CharData:
			u := string(bytes.TrimSpace(token))
			if len(path) < 2 || path[len(path)-1] != "loc" || u == "" {
				continue
			}
			switch path[len(path)-2] {
			case "url":
				urls = append(urls, u)
			case "sitemap":
				sitemaps = append(sitemaps, u)
			}
		}
	}
	return urls, sitemaps
}
