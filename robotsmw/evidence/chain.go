package evidence

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
)

// A link is the end of a chain of lines: the number and hash of the last line.
type link struct {
	n    uint64
	hash [2 * sha256.Size]byte // in hex
}

func first() (l link) {
	copy(l.hash[:], bytes.Repeat([]byte{'0'}, len(l.hash)))
	return l
}

// The constant "sealed" is the number of bytes at the end of a line that are
// not hashed: the member "hash" with its comma, and the closing brace.
const sealed = len(`,"hash":"`) + 2*sha256.Size + len(`"}`)

// appendLine appends the line that follows l, and returns the new end of the
// chain. The argument "members" has the text between "n" and "prev". Its parts
// are joined with nothing between them. The text must neither begin nor end
// with a comma.
func (l link) appendLine(b []byte, members ...[]byte) ([]byte, link) {
	start := len(b)
	b = append(b, `{"n":`...)
	b = append(strconv.AppendUint(b, l.n+1, 10), ',')
	for _, m := range members {
		b = append(b, m...)
	}
	b = append(b, `,"prev":"`...)
	b = append(append(b, l.hash[:]...), '"')
	sum := sha256.Sum256(b[start:])
	l.n++
	hex.Encode(l.hash[:], sum[:])
	b = append(b, `,"hash":"`...)
	b = append(append(b, l.hash[:]...), `"}`...)
	return append(b, '\n'), l
}

// The function "follows" checks one line, with its newline. It returns the ends
// of the chain before and after the line. The line itself says what prev is. ok
// is false if the line is not whole or its hash is wrong.
func follows(line []byte) (prev, next link, ok bool) {
	body, found := bytes.CutSuffix(line, []byte("\n"))
	if !found || len(body) < sealed {
		return prev, next, false
	}
	text, seal := body[:len(body)-sealed], body[len(body)-sealed:]
	sum := sha256.Sum256(text)
	hex.Encode(next.hash[:], sum[:])
	if string(seal) != `,"hash":"`+string(next.hash[:])+`"}` {
		return prev, next, false
	}
	var v struct {
		N    uint64 `json:"n"`
		Prev string `json:"prev"`
	}
	if json.Unmarshal(body, &v) != nil || v.N == 0 || len(v.Prev) != len(prev.hash) {
		return prev, next, false
	}
	next.n, prev.n = v.N, v.N-1
	copy(prev.hash[:], v.Prev)
	return prev, next, true
}

// scan reads a segment up to the first line that is not good. It returns the
// end of the chain, the number of good bytes, and the size of the file. If no
// line is good, the end of the chain is the zero value.
func scan(path string) (end link, good, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return end, 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return end, 0, 0, err
	}
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return end, good, info.Size(), err
		}
		prev, next, ok := follows(line)
		if !ok || good > 0 && prev != end {
			return end, good, info.Size(), nil
		}
		end, good = next, good+int64(len(line))
	}
}
