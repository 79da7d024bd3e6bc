package network

import (
	"fmt"
	"io"
)

// TooLargeError says that an answer is larger than its reader takes.
type TooLargeError struct {
	// Limit is the most that is taken, in bytes.
	Limit int64
}

// Error tells the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer is larger than %d bytes", e.Limit)
}

// bounded is a body of which no more than limit bytes are read. Its end is told
// from one that is cut off: reading on is an error.
type bounded struct {
	io.ReadCloser
	limit, left int64
}

func newBounded(body io.ReadCloser, limit int64) *bounded {
	return &bounded{ReadCloser: body, limit: limit, left: limit}
}

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	// One byte more is asked for, to see whether there is one.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n = int(b.left)
		err = &TooLargeError{b.limit}
	}
	b.left -= int64(n)
	return n, err
}
