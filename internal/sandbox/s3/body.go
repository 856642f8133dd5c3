package s3

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// A checksum is what a client declared about a body: its algorithm's header
// suffix (crc32, sha256, …) and the base64 value.
type checksum struct{ algorithm, value string }

func (c checksum) header() string { return "x-amz-checksum-" + c.algorithm }

var algorithms = map[string]func() hash.Hash{
	"crc32":     func() hash.Hash { return crc32.NewIEEE() },
	"crc32c":    func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) },
	"crc64nvme": func() hash.Hash { return crc64.New(crc64.MakeTable(0x9a6c9329ac4bc9b5)) },
	"sha1":      sha1.New,
	"sha256":    sha256.New,
}

// readBody reads the whole body, undoes the aws-chunked encoding and checks
// every digest that came with it.
func (c *call) readBody() error {
	raw, err := io.ReadAll(c.r.Body)
	if err != nil {
		return fail(http.StatusBadRequest, "IncompleteBody", "You did not provide the number of bytes specified by the Content-Length HTTP header")
	}
	if n := c.r.ContentLength; n >= 0 && int64(len(raw)) != n {
		return fail(http.StatusBadRequest, "IncompleteBody", "You did not provide the number of bytes specified by the Content-Length HTTP header")
	}
	h := c.r.Header
	declared := h.Get("x-amz-content-sha256")
	trailer := textproto.MIMEHeader{}
	if strings.HasPrefix(declared, "STREAMING-") {
		if raw, trailer, err = unchunk(raw); err != nil {
			return fail(http.StatusBadRequest, "IncompleteBody", "The request body is not aws-chunked as its headers say")
		}
		if n := h.Get("x-amz-decoded-content-length"); n != strconv.Itoa(len(raw)) {
			return fail(http.StatusBadRequest, "IncompleteBody", "The decoded body does not have the length of x-amz-decoded-content-length")
		}
	} else if len(declared) == sha256.Size*2 {
		if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != declared {
			return fail(http.StatusBadRequest, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
		}
	}
	c.body = raw

	if given := h.Get("Content-MD5"); given != "" {
		if sum := md5.Sum(raw); base64.StdEncoding.EncodeToString(sum[:]) != given {
			return fail(http.StatusBadRequest, "BadDigest", "The Content-MD5 you specified did not match what we received.")
		}
	}
	for name, make := range algorithms {
		given := h.Get("x-amz-checksum-" + name)
		if given == "" {
			given = trailer.Get("x-amz-checksum-" + name)
		}
		if given == "" {
			continue
		}
		sum := make()
		sum.Write(raw)
		if base64.StdEncoding.EncodeToString(sum.Sum(nil)) != given {
			return failf(http.StatusBadRequest, "BadDigest", "The %s you specified did not match the calculated checksum.", strings.ToUpper(name))
		}
		c.checksum = checksum{name, given}
	}
	return nil
}

// unchunk decodes an aws-chunked body: chunks with a hexadecimal length and
// perhaps a signature, an empty one, then trailers.
func unchunk(raw []byte) ([]byte, textproto.MIMEHeader, error) {
	in := bufio.NewReader(bytes.NewReader(raw))
	var out []byte
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, nil, io.ErrUnexpectedEOF
		}
		length, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseUint(length, 16, 31)
		if err != nil {
			return nil, nil, err
		}
		if n == 0 {
			break
		}
		chunk := make([]byte, n+2) // with the line's end
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, nil, err
		}
		out = append(out, chunk[:n]...)
	}
	trailer, err := textproto.NewReader(in).ReadMIMEHeader()
	if err == io.EOF { // no trailers, or no empty line behind them
		err = nil
	}
	return out, trailer, err
}
