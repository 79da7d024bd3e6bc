package network

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter returns how long a server asks to wait before the next request, at
// most the given time; 0 when it does not ask. The header is a number of seconds
// or a date (RFC 9110, section 10.2.3).
func RetryAfter(header http.Header, most time.Duration) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		at, err := http.ParseTime(text)
		if err != nil {
			return 0
		}
		seconds = int64(time.Until(at).Seconds() + 1)
	}
	return time.Duration(min(max(seconds, 0), int64(most/time.Second))) * time.Second
}
