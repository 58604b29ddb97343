// Package chain implements the format of a record on disk: the names of the
// files, and the hashes that connect each line to the previous line. Package
// evidence writes this format, and package audit checks it.
package chain

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
)

// LinesName returns the file name of the segment with the given number.
// WARCName returns the file name of the WARC file that belongs to the segment.
func LinesName(segment int) string { return fmt.Sprintf("evidence-%06d.jsonl", segment) }
func WARCName(segment int) string  { return fmt.Sprintf("robots-%06d.warc.gz", segment) }

// Segments returns the numbers of the segments in a directory, sorted.
func Segments(dir fs.FS) ([]int, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	var all []int
	for _, e := range entries {
		var n int
		_, err := fmt.Sscanf(e.Name(), "evidence-%d.jsonl", &n)
		if err == nil && n > 0 && e.Name() == LinesName(n) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}

// A Link is the end of a chain of lines: the number and hash of the last line.
// If two Links are equal, all lines up to them are equal.
type Link struct {
	N    uint64
	Hash [2 * sha256.Size]byte // in hex
}

// Start returns the Link before the first line, whose number is 0 and whose
// hash is 64 zeros.
func Start() (l Link) {
	copy(l.Hash[:], bytes.Repeat([]byte{'0'}, len(l.Hash)))
	return l
}

// String returns the number and the hash of the line, as in "17:9f86…".
func (l Link) String() string { return fmt.Sprintf("%d:%s", l.N, l.Hash[:]) }

const (
	begin = `{"n":`
	prev  = `,"prev":"`
	hash  = `,"hash":"`
	end   = `"}` + "\n"

	// sealed is the number of bytes at the end of a line that are not hashed.
	sealed = len(hash) + 2*sha256.Size + len(end)
)

// Append appends the line that follows l, and returns the new end of the chain.
// The concatenation of members is the text between the members "n" and "prev".
// It must neither begin nor end with a comma.
func (l Link) Append(b []byte, members ...[]byte) ([]byte, Link) {
	start := len(b)
	b = append(strconv.AppendUint(append(b, begin...), l.N+1, 10), ',')
	for _, m := range members {
		b = append(b, m...)
	}
	b = append(append(append(append(b, prev...), l.Hash[:]...), '"'), hash...)
	sum := sha256.Sum256(b[start : len(b)-len(hash)])
	l.N++
	hex.Encode(l.Hash[:], sum[:])
	return append(append(b, l.Hash[:]...), end...), l
}

// Check returns the ends of the chain before and after a line, which the line
// itself contains. The line must include its newline. ok is false if the line
// is incomplete, has another form, or has another hash than the one it
// contains.
func Check(line []byte) (before, after Link, ok bool) {
	text := line[:max(len(line)-sealed, 0)]
	sum := sha256.Sum256(text)
	hex.Encode(after.Hash[:], sum[:])
	if string(line[len(text):]) != hash+string(after.Hash[:])+end {
		return before, after, false
	}
	members, _ := bytes.CutPrefix(text, []byte(begin))
	digits, _, _ := bytes.Cut(members, []byte(","))
	n, err := strconv.ParseUint(string(digits), 10, 64)
	hasNumber := len(members) < len(text) && err == nil && n > 0
	from := len(text) - len(before.Hash) - 1
	hasHash := from >= 0 && bytes.HasSuffix(text[:from], []byte(prev))
	if !hasNumber || !hasHash {
		return before, after, false
	}
	before.N = n - 1
	after.N = n
	copy(before.Hash[:], text[from:])
	return before, after, true
}

// Longest is the maximum length of a line that readers of a record accept, in
// bytes.
const Longest = 16 << 20

// ReadLine reads a line, including its newline. The result is valid until the
// next read. size is the length of the line in bytes. If the line is longer
// than both longest and the buffer of in, ReadLine returns only the beginning
// of the line. At the end of the file, and for a last line without a newline,
// the error is io.EOF.
func ReadLine(in *bufio.Reader, longest int) (line []byte, size int, err error) {
	line, err = in.ReadSlice('\n')
	size = len(line)
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, size, err
	}
	line = bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = in.ReadSlice('\n')
		if size += len(part); size <= longest {
			line = append(line, part...)
		}
	}
	return line, size, err
}

// Scan reads a segment up to the first line that does not follow the line
// before it. It returns the end of the chain at that point, and the total size
// of the lines before it. If the first line is invalid, the end of the chain is
// the zero value.
func Scan(segment io.Reader) (end Link, good int64, err error) {
	in := bufio.NewReaderSize(segment, 1<<16)
	for {
		line, size, err := ReadLine(in, Longest)
		if err != nil && !errors.Is(err, io.EOF) {
			return end, good, err
		}
		before, after, ok := Check(line)
		isFirst := good == 0
		if !ok || !isFirst && before != end {
			return end, good, nil
		}
		end = after
		good += int64(size)
	}
}
