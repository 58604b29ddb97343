// Package archive opens the containers of logs and WARC files that package
// robotsmw/evidence/audit does not support: zstd, with or without the
// dictionary of a .warc.zst, and WACZ, which is a ZIP file with WARC files in
// it.
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
	// skippableMagic begins a .warc.zst whose first frame contains the
	// dictionary of its records
	// (iipc.github.io/warc-specifications/specifications/warc-zstd).
	skippableMagic = "\x5d\x2a\x4d\x18"
	// dictionaryMagic begins a dictionary in the format of zstd. Any other
	// dictionary is raw content.
	dictionaryMagic = "\x37\xa4\x30\xec"

	maxDictionaryBytes = 16 << 20 // before and after decompression
	maxWindowBytes     = 128 << 20
)

// A Member is a file in a container, or a file that is not a container.
type Member struct {
	Name   string // with the name of the container
	Reader io.Reader
	close  func() // may be nil
}

// Close releases the resources of a member.
func (m Member) Close() {
	if m.close != nil {
		m.close()
	}
}

// Open returns the WARC files of a WACZ, the decompressed content of a zstd
// file, or the file itself.
func Open(name string, file io.Reader) ([]Member, error) {
	magic, file, err := peek(file, len(zstdMagic))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	switch string(magic) {
	case zipMagic:
		return openZIP(name, file)
	case zstdMagic, skippableMagic:
		m, err := openZstd(name, file)
		return []Member{m}, err
	}
	return []Member{{Name: name, Reader: file}}, nil
}

// peek returns the first n bytes of a file, or fewer if it is shorter, and a
// reader of the whole file. If the file supports random access, which reading a
// ZIP file requires, the reader supports it too.
func peek(file io.Reader, n int) (magic []byte, whole io.Reader, err error) {
	if random, ok := file.(randomAccess); ok && isSeekable(random) {
		magic, err = peekAt(random, n)
		return magic, file, err
	}
	buffered := bufio.NewReader(file)
	magic, err = buffered.Peek(n)
	return magic, buffered, ignoreEOF(err)
}

type randomAccess interface {
	io.ReaderAt
	io.Seeker
}

// isSeekable reports whether the file supports Seek and is not empty. A pipe
// does not support Seek, although its type, *os.File, has that method.
func isSeekable(file io.Seeker) bool {
	size, err := file.Seek(0, io.SeekEnd)
	return err == nil && size > 0
}

// peekAt returns the first n bytes of a file, and seeks to its beginning.
func peekAt(file randomAccess, n int) ([]byte, error) {
	magic := make([]byte, n)
	n, err := file.ReadAt(magic, 0)
	if err := ignoreEOF(err); err != nil {
		return nil, err
	}
	_, err = file.Seek(0, io.SeekStart)
	return magic[:n], err
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// openZstd decompresses a file, with the dictionary in its first frame if it
// has one.
func openZstd(name string, file io.Reader) (Member, error) {
	in := bufio.NewReader(file)
	options := []zstd.DOption{
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxWindow(maxWindowBytes),
	}
	if magic, _ := in.Peek(len(skippableMagic)); string(magic) == skippableMagic {
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
	return Member{Name: name, Reader: decoder, close: decoder.Close}, nil
}

// readDictionary reads a frame with a dictionary, which may be compressed.
func readDictionary(in io.Reader) ([]byte, error) {
	var header [8]byte // the magic number and the size
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(header[4:])
	if size > maxDictionaryBytes {
		return nil, fmt.Errorf("its size is %d bytes, more than the maximum of %d", size, maxDictionaryBytes)
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
	return io.ReadAll(io.LimitReader(decoder, maxDictionaryBytes))
}

// openZIP returns the WARC files of a WACZ.
func openZIP(name string, file io.Reader) (members []Member, err error) {
	random, ok := file.(randomAccess)
	if !ok {
		return nil, fmt.Errorf("%s is a ZIP file, which cannot be read from standard input", name)
	}
	size, err := random.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	container, err := zip.NewReader(random, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, f := range container.File {
		if !isWARC(f.Name) {
			continue
		}
		member, err := openInZIP(name, f)
		if err != nil {
			return nil, err
		}
		members = append(members, member)
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("%s is a ZIP file without a WARC file in it", name)
	}
	return members, nil
}

// openInZIP opens a WARC file of the named container.
func openInZIP(container string, f *zip.File) (Member, error) {
	in, err := f.Open()
	if err != nil {
		return Member{}, fmt.Errorf("%s: %s: %w", container, f.Name, err)
	}
	name := container + ":" + path.Base(f.Name)
	if strings.HasSuffix(strings.ToLower(f.Name), ".zst") {
		return openZstd(name, in)
	}
	return Member{Name: name, Reader: in, close: func() { in.Close() }}, nil
}

func isWARC(name string) bool {
	name = strings.ToLower(name)
	for _, suffix := range []string{".warc", ".warc.gz", ".warc.zst"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}
