// Package bodycode decodes bodies as servers really send them: with bytes after
// the end of a gzip stream, or in UTF-16.
package bodycode

import (
	"bufio"
	"compress/gzip"
	"io"
)

// IsGzip reports whether r begins with the two bytes that identify gzip (RFC
// 1952 §2.3.1). No text begins with them.
func IsGzip(r *bufio.Reader) bool {
	magic, _ := r.Peek(2)
	return len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b
}

// NewGzipReader returns a reader that decompresses r. Like [gzip.Reader], it
// concatenates the members of the stream. Unlike [gzip.Reader], it ignores
// bytes that follow the last member, such as a newline or zeros.
func NewGzipReader(r *bufio.Reader) (io.Reader, error) {
	member, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	member.Multistream(false)
	return &gzipReader{source: r, member: member}, nil
}

type gzipReader struct {
	source *bufio.Reader
	member *gzip.Reader
	err    error // once set, all further reads return it
}

func (z *gzipReader) Read(p []byte) (int, error) {
	for z.err == nil {
		n, err := z.member.Read(p)
		if err == io.EOF {
			err = z.next()
		}
		z.err = err
		if n > 0 {
			return n, nil
		}
		if len(p) == 0 {
			break
		}
	}
	return 0, z.err
}

// next begins the next member. It returns io.EOF if there is none.
func (z *gzipReader) next() error {
	if !IsGzip(z.source) {
		_, err := z.source.Peek(2)
		if err != nil && err != io.EOF {
			return err // the source has failed, perhaps within the next member
		}
		return io.EOF
	}
	if err := z.member.Reset(z.source); err != nil {
		return err
	}
	z.member.Multistream(false)
	return nil
}
