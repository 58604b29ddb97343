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
	first   int // the number of its first line in the input, counted from 1
	in, out []byte
	done    chan struct{} // closed when out is complete
}

var blocks = sync.Pool{New: func() any { return new(block) }}

// readBlocks passes complete lines to the function give as soon as it has read
// them, so no answer waits for a later question. It may cut a line that has
// more than maxLine bytes, but leaves at least maxLine+1 bytes of it. It ends
// early if give returns false.
func readBlocks(in io.Reader, maxLine int, give func(*block) bool) error {
	buf := make([]byte, 0, blockSize) // begins with the incomplete last line of the last read
	for number := 1; ; {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf))
		}
		n, err := in.Read(buf[len(buf):cap(buf)])
		read := buf[len(buf) : len(buf)+n]
		if len(buf) > maxLine { // the line is too long: drop its rest
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
