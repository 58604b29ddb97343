// Package archive opens the containers of logs and WARC files that package
// robotsmw/evidence/audit does not know: zstd, also with the dictionary of a
// .warc.zst, and WACZ, which is a ZIP file with WARC files in it.
package archive

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const (
	zstdMagic = "\x28\xb5\x2f\xfd"
	zipMagic  = "PK\x03\x04"
	// skippableMagic is that of the first frame of a .warc.zst whose records
	// are compressed with a dictionary. The frame has the dictionary
	// (iipc.github.io/warc-specifications/specifications/warc-zstd).
	skippableMagic = "\x5d\x2a\x4d\x18"
	// dictionaryMagic begins a dictionary of zstd's own format.
	dictionaryMagic = "\x37\xa4\x30\xec"

	// maxDictionary is the maximum size of a dictionary in bytes, before and
	// after decompression.
	maxDictionary = 16 << 20
	// maxWindow is how many decompressed bytes the decoder keeps for matches.
	maxWindow = 128 << 20
)

// A Member is a file in a container, or the container itself if there are no
// others.
type Member struct {
	Name   string // with the name of the container
	Reader io.Reader
	close  func()
}

// Close ends the reading of a member.
func (m Member) Close() {
	if m.close != nil {
		m.close()
	}
}

// Open returns what there is to read in a file. Of a WACZ, these are the WARC
// files in it. A file that is no container is returned unchanged.
func Open(name string, file io.Reader) ([]Member, error) {
	begin, file, err := peek(file, len(zstdMagic))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	switch string(begin) {
	case zipMagic:
		return openZIP(name, file)
	case zstdMagic, skippableMagic:
		m, err := openZstd(name, file)
		return []Member{m}, err
	}
	return []Member{{Name: name, Reader: file}}, nil
}

// peek returns the first bytes of a file, and a reader of the whole file. If
// the file can be read at any place, so can the result.
func peek(file io.Reader, n int) (begin []byte, whole io.Reader, err error) {
	begin = make([]byte, n)
	if at, ok := file.(io.ReaderAt); ok {
		if seeker, ok := file.(io.Seeker); ok {
			if size, err := seeker.Seek(0, io.SeekEnd); err == nil && size > 0 {
				n, err := at.ReadAt(begin, 0)
				if errors.Is(err, io.EOF) {
					err = nil
				}
				_, err2 := seeker.Seek(0, io.SeekStart)
				return begin[:n], file, errors.Join(err, err2)
			}
		}
	}
	in := bufio.NewReader(file)
	begin, err = in.Peek(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return begin, in, err
}

// openZstd decompresses a file, with the dictionary in its first frame if it
// has one.
func openZstd(name string, file io.Reader) (Member, error) {
	in := bufio.NewReader(file)
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow)}
	if begin, _ := in.Peek(len(skippableMagic)); string(begin) == skippableMagic {
		dictionary, err := readDictionary(in)
		if err != nil {
			return Member{}, fmt.Errorf("%s: the dictionary: %w", name, err)
		}
		if bytes.HasPrefix(dictionary, []byte(dictionaryMagic)) {
			options = append(options, zstd.WithDecoderDicts(dictionary))
		} else {
			options = append(options, zstd.WithDecoderDictRaw(0, dictionary))
		}
	}
	decoder, err := zstd.NewReader(in, options...)
	if err != nil {
		return Member{}, fmt.Errorf("%s: %w", name, err)
	}
	return Member{name, decoder, decoder.Close}, nil
}

// readDictionary reads a frame with a dictionary, which may be compressed.
func readDictionary(in io.Reader) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[4:])
	if size > maxDictionary {
		return nil, fmt.Errorf("its size is %d bytes", size)
	}
	dictionary := make([]byte, size)
	if _, err := io.ReadFull(in, dictionary); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(dictionary, []byte(zstdMagic)) {
		return dictionary, nil
	}
	decoder, err := zstd.NewReader(bytes.NewReader(dictionary), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	return io.ReadAll(io.LimitReader(decoder, maxDictionary))
}

// openZIP returns the WARC files of a WACZ.
func openZIP(name string, file io.Reader) (members []Member, err error) {
	at, isFile := file.(io.ReaderAt)
	seeker, canSeek := file.(io.Seeker)
	if !isFile || !canSeek {
		return nil, fmt.Errorf("%s is a ZIP file, which cannot be read from standard input", name)
	}
	size, err := seeker.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	container, err := zip.NewReader(at, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, f := range container.File {
		if !isWARC(f.Name) {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, f.Name, err)
		}
		inner := Member{name + ":" + path.Base(f.Name), in, func() { in.Close() }}
		if strings.HasSuffix(strings.ToLower(f.Name), ".zst") {
			if inner, err = openZstd(inner.Name, in); err != nil {
				return nil, err
			}
		}
		members = append(members, inner)
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("%s is a ZIP file without a WARC file in it", name)
	}
	return members, nil
}

func isWARC(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".warc") || strings.HasSuffix(name, ".warc.gz") || strings.HasSuffix(name, ".warc.zst")
}
