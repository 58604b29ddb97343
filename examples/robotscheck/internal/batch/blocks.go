package batch

import (
	"bufio"
	"bytes"
	"io"
	"sync"
)

// blockSize is how many bytes of lines are answered together at least, if so
// much input is at hand.
const blockSize = 64 << 10

// A block is one or more complete lines and their answers.
type block struct {
	first    int // the number of the first line, counted from 1
	lines    []byte
	out      bytes.Buffer
	answered chan struct{} // closed when the answers are complete
}

var blocks = sync.Pool{New: func() any { return new(block) }}

// read reads complete lines, as many as are at hand, and returns their number.
// So no answer waits for a later question. A line of more than maxLine bytes is
// cut behind its first maxLine+1. Each line ends with a newline.
func (b *block) read(in *bufio.Reader, maxLine int) (n int, err error) {
	b.lines = b.lines[:0]
	begin := 0 // of the last line
	for {
		part, err := in.ReadSlice('\n')
		b.lines = append(b.lines, part[:min(len(part), maxLine+1-(len(b.lines)-begin))]...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && err != io.EOF {
			b.lines = b.lines[:begin]
			return n, err
		}
		if len(b.lines) > begin {
			n++
			b.lines = append(bytes.TrimSuffix(b.lines, []byte("\n")), '\n')
		}
		begin = len(b.lines)
		buffered, _ := in.Peek(in.Buffered())
		if err != nil || begin >= blockSize || bytes.IndexByte(buffered, '\n') < 0 {
			return n, err
		}
	}
}
