// Package sitemap reads sitemaps (https://www.sitemaps.org/protocol.html). A
// sitemap is XML or lines of text, and may be compressed with gzip. Read never
// fails: from a truncated or malformed sitemap, it returns what it can read.
package sitemap

import (
	"bufio"
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

// maxLine is the maximum length of a line in bytes, including the newline. The
// protocol requires URLs to be shorter than 2,048 characters.
const maxLine = 64 << 10

// maxToken is roughly how many bytes a tag, a text or a comment of XML may
// have, and maxDepth how deep elements may be in each other. Package xml keeps
// a token as a whole, and all elements that are open. Where a sitemap has more,
// it ends.
const maxToken, maxDepth = 1 << 20, 100

// Read returns the URLs of the pages that a sitemap lists, as written. If the
// sitemap is an index, Read returns the URLs of the sitemaps that it lists.
func Read(body []byte) (urls, sitemaps []string) {
	var in io.Reader = bytes.NewReader(body)
	if unpacked, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
		in = unpacked
	}
	text := bufio.NewReaderSize(io.LimitReader(in, maxBytes), maxLine)
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" {
		text.Discard(3)
	}
	if start, _ := text.Peek(maxLine); !bytes.HasPrefix(bytes.TrimSpace(start), []byte("<")) {
		return readText(text), nil
	}
	return readXML(text)
}

// readText reads a URL from each line. It skips lines longer than maxLine.
func readText(text *bufio.Reader) (urls []string) {
	for isRest := false; len(urls) < MaxURLs; {
		line, err := text.ReadSlice('\n')
		isPart := err == bufio.ErrBufferFull
		if u := bytes.TrimSpace(line); len(u) > 0 && !isPart && !isRest {
			urls = append(urls, string(u))
		}
		if err != nil && !isPart {
			break
		}
		isRest = isPart // what follows is the rest of the same line
	}
	return urls
}

// readXML reads each loc element that is a child of a url or sitemap element.
// It skips the locs of images and videos.
func readXML(text io.Reader) (urls, sitemaps []string) {
	in := &io.LimitedReader{R: text}
	d := xml.NewDecoder(in)
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // URLs are ASCII, which most charsets include
	var path []string
	for len(urls)+len(sitemaps) < MaxURLs && len(path) <= maxDepth {
		in.N = maxToken
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
