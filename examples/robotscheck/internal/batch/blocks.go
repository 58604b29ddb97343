package batch

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// blockSize is the greatest number of bytes in one read, unless a line is
// longer.
const blockSize = 64 << 10

// A block is one or more complete lines and their answers.
type block struct {
	first   int // the number of the block's first line; the first line of the input is 1
	in, out []byte
	done    chan struct{} // closed when the answers are complete
}

var blocks = sync.Pool{New: func() any { return new(block) }}

// readBlocks passes complete lines to give() as soon as it has read them. So no
// answer waits for a later question. A line of more than maxLine bytes may be
// cut, but at least its first maxLine+1 bytes are passed. If give() returns
// false, readBlocks returns early.
func readBlocks(in io.Reader, maxLine int, give func(*block) bool) error {
	buf := make([]byte, 0, blockSize) // begins with the incomplete line at the end of the previous read
	for number := 1; ; {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf))
		}
		n, err := in.Read(buf[len(buf):cap(buf)])
		read := buf[len(buf) : len(buf)+n]
		if len(buf) > maxLine { // the line is too long: drop the bytes up to its end
			end := bytes.IndexByte(read, '\n')
			if end < 0 {
				end = len(read)
			}
			read = read[end:]
		}
		old := len(buf) // buf[:old] has no newline
		buf = append(buf, read...)
		if err == io.EOF && len(buf) > 0 && buf[len(buf)-1] != '\n' {
			buf = append(buf, '\n')
		}
		if last := bytes.LastIndexByte(buf[old:], '\n'); last >= 0 {
			end := old + last + 1
			b := blocks.Get().(*block)
			b.first, b.in, b.done = number, append(b.in[:0], buf[:end]...), make(chan struct{})
			number += bytes.Count(buf[:end], []byte("\n"))
			if !give(b) {
				return nil
			}
			buf = append(buf[:0], buf[end:]...)
		}
		buf = buf[:min(len(buf), maxLine+1)]
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
