package cache

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
)

// forever answers every request for an operation so.
func (f *fake) forever(op string, x fault) {
	for range 100 {
		f.on(op, x)
	}
}

const (
	couldNotStore = "checkpoint-store-failed: could not store the terminal record of " + job + " in the cache: "
	couldNotRead  = "checkpoint-store-failed: could not look for the records of " + job + " in the cache: "
)

// What services answer, and what people are told. HOST stands for the address of both.
func TestFailureTexts(t *testing.T) {
	t.Parallel()
	denied := `{"ok":false,"message":"cache write denied: token has no writable scopes"}`
	tests := []struct {
		name, op string
		answer   fault
		want     string
		tries    int // requests for the operation
	}{
		{"denied", opReserve, status(200, denied), "HOST answered that it is not done: cache write denied: token has no writable scopes. " + fixReadOnly, 1},
		{"denied by status", opReserve, status(403, `{"code":"permission_denied","msg":"cache write denied: read-only token"}`),
			"HOST answered HTTP 403 Forbidden: cache write denied: read-only token. " + fixReadOnly, 1},
		{"denied, and asked to wait", opReserve, status(429, `{"code":"resource_exhausted","msg":"cache write denied: x"}`), "HOST answered HTTP 429 Too Many Requests: cache write denied: x. " + fixReadOnly, 1},
		{"reading denied", opLookUp, status(200, `{"ok":false,"message":"cache read denied: x"}`), "HOST answered that it is not done: cache read denied: x. " + fixReadOnly, 5},
		{"401", opReserve, status(401, ""), "HOST answered HTTP 401 Unauthorized. The runtime token is not accepted. It holds for this job alone, and about 6 hours: run the job again", 1},
		{"403", opReserve, status(403, "<html><title>no</title><body>No entry</body></html>"), "HOST answered HTTP 403 Forbidden: No entry. " + fixReadOnly, 1},
		{"404", opReserve, status(404, `{"code":"bad_route","msg":"no handler"}`), "HOST answered HTTP 404 Not Found: no handler. Check whether a proxy answers in the place of HOST. " + fixOther, 1},
		{"404 of a lookup", opLookUp, status(404, `{"code":"bad_route"}`), "HOST answered HTTP 404 Not Found: bad_route. Check whether a proxy answers in the place of HOST. " + fixOther, 5},
		{"a redirect", opReserve, status(302, "", "Location", "https://elsewhere.example"),
			"HOST answered HTTP 302 Found. A redirect is not followed, since that would hand a credential on. Check whether a proxy answers in the place of HOST", 1},
		{"429", opReserve, status(429, `{"code":"resource_exhausted","msg":"slow down"}`, "Retry-After", "1"),
			"HOST answered HTTP 429 Too Many Requests: slow down. It was tried 4 times. GitHub takes 200 uploads to the cache a minute from a repository: run again later, with fewer jobs at a time", 4},
		{"503", opReserve, status(503, ""), "HOST answered HTTP 503 Service Unavailable. It was tried 4 times. " + fixStatus, 4},
		{"dropped", opReserve, drop, "the connection to HOST was lost before the answer had come. It was tried 4 times. Check that this runner's network lets it reach HOST", 4},
		{"no JSON", opReserve, status(200, "<html>"), "HOST answered with something which is no JSON object. Check whether a proxy answers in the place of HOST", 1},
		{"null", opReserve, status(200, "null"), "HOST answered with something which is no JSON object. Check whether a proxy answers in the place of HOST", 1},
		{"nothing", opReserve, status(200, ""), "HOST answered with something which is no JSON object. Check whether a proxy answers in the place of HOST", 1},
		{"no address", opReserve, status(200, `{"ok":true}`), "HOST answered with an address that is no https URL. Check whether a proxy answers in the place of HOST", 1},
		{"an address of another kind", opReserve, status(200, `{"ok":true,"signed_upload_url":"file:///etc/passwd?sig=c2VjcmV0c2VjcmV0c2VjcmV0"}`),
			"HOST answered with an address that is no https URL. Check whether a proxy answers in the place of HOST", 1},
		{"an address with a user", opReserve, status(200, `{"ok":true,"signed_upload_url":"https://u:c2VjcmV0c2VjcmV0c2VjcmV0@x.example/"}`),
			"HOST answered with an address that is no https URL. Check whether a proxy answers in the place of HOST", 1},
		{"an address that is none", opReserve, status(200, `{"ok":true,"signed_upload_url":"https://x.example/%zz?sig=c2VjcmV0c2VjcmV0c2VjcmV0"}`),
			"HOST answered with an address that is no https URL. Check whether a proxy answers in the place of HOST", 1},
		{"too large", opReserve, status(200, strings.Repeat(" ", bundle.MaxSize+1)), "the answer of HOST is too large. No record is that large: Check whether a proxy answers in the place of HOST", 1},
		{"taken for ever", opReserve, status(409, `{"code":"already_exists","msg":"exists"}`),
			"all 16 keys of this attempt are taken, and there is no record to read. The last answer: HOST answered HTTP 409 Conflict: exists. " + fixTaken, 16},
		{"not done", opReserve, status(200, `{"ok":false,"message":"busy"}`),
			"all 16 keys of this attempt are taken, and there is no record to read. The last answer: HOST answered that it is not done: busy. " + fixTaken, 16},
		{"the upload refused", opUpload, status(403, `<?xml version="1.0"?><Error><Code>AuthenticationFailed</Code></Error>`, "X-Ms-Error-Code", "AuthenticationFailed"),
			"HOST answered HTTP 403 to an upload: AuthenticationFailed. Check whether a proxy answers in the place of HOST", 3},
		// The library takes the number of the request for given.
		{"the upload taken without a number", opUpload, status(201, ""), "the client of the cache panicked, at an answer that it does not expect. " + fixOther, 3},
		{"not finished", opFinalize, status(200, `{"ok":false,"message":"quota"}`), "HOST answered that it is not done: quota. " + fixStatus, 3},
		{"not finished, 400", opFinalize, status(400, `{"code":"invalid_argument","msg":"size"}`), "HOST answered HTTP 400 Bad Request: size. Check whether a proxy answers in the place of HOST. " + fixOther, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			s := f.open(f.options(1))
			f.forever(tt.op, tt.answer)
			err := s.Write(t.Context(), job, document(checkpoint.Terminal, "a"))
			prefix := couldNotStore
			if tt.op == opLookUp {
				_, err = s.Read(t.Context(), job)
				prefix = couldNotRead
			}
			if err == nil {
				t.Fatal("there is no error")
			}
			f.clean(err.Error())
			if strings.Contains(err.Error(), "c2VjcmV0") {
				t.Errorf("there is a secret in %q", err)
			}
			got := strings.ReplaceAll(err.Error(), strings.TrimPrefix(f.URL, "http://"), "HOST")
			if want := prefix + tt.want; got != want {
				t.Errorf("the error is\n%s\nwant\n%s", got, want)
			}
			tries := 0
			for _, op := range f.asked() {
				if op == tt.op {
					tries++
				}
			}
			// The lookups of all steps go out at once, and end with the first failure.
			if tries != tt.tries && (tt.op != opLookUp || tries > tt.tries || tries < 1) {
				t.Errorf("%d requests, want %d", tries, tt.tries)
			}
		})
	}
}

// The service before has other words.
func TestFailureTextsBefore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, op string
		answer   fault
		want     string
	}{
		{"no number", opReserve, status(201, `{"cacheId":0}`), "HOST answered with something which has no number of an entry. Check whether a proxy answers in the place of HOST"},
		{"a number that is none", opReserve, status(201, `{"cacheId":-5}`), "HOST answered with something which has no number of an entry. Check whether a proxy answers in the place of HOST"},
		{"a text", opReserve, status(201, `{"cacheId":"1/../x"}`), "HOST answered with something which has no number of an entry. Check whether a proxy answers in the place of HOST"},
		{"denied", opReserve, status(403, `{"message":"cache write denied: x","typeKey":"y"}`), "HOST answered HTTP 403 Forbidden: cache write denied: x. " + fixReadOnly},
		{"upload refused", opUpload, status(400, `{"message":"no"}`), "HOST answered HTTP 400 Bad Request: no. Check whether a proxy answers in the place of HOST. " + fixOther},
		{"no key", opLookUp, status(200, `{"archiveLocation":"https://x.example"}`), "HOST answered with something which has no key. Check whether a proxy answers in the place of HOST"},
		{"no address", opLookUp, status(200, `{"cacheKey":"x"}`), "HOST answered with an address that is no https URL. Check whether a proxy answers in the place of HOST"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			o := f.options(1)
			o.ResultsURL = ""
			s := f.open(o)
			f.forever(tt.op, tt.answer)
			err := s.Write(t.Context(), job, document(checkpoint.Terminal, "a"))
			prefix := couldNotStore
			if tt.op == opLookUp {
				_, err = s.Read(t.Context(), job)
				prefix = couldNotRead
			}
			if err == nil {
				t.Fatal("there is no error")
			}
			f.clean(err.Error())
			if got, want := strings.ReplaceAll(err.Error(), strings.TrimPrefix(f.URL, "http://"), "HOST"), prefix+tt.want; got != want {
				t.Errorf("the error is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Nobody answers at all, or nobody who can be trusted. Not a byte of the token is
// sent in the clear.
func TestNotReached(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0) // It tells of handshakes that were ended.
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	for _, tt := range []struct{ name, address, want string }{
		{"closed", closed.URL, "HOST refused the connection. It was tried 4 times. Check that this runner's network lets it reach HOST"},
		{"not trusted", untrusted.URL, "HOST showed a certificate that is not trusted here. Something on the way may open the connection. " +
			"If that is your own network's doing, name the file with its CA in SSL_CERT_FILE"},
		{"in the clear", "http://results.example", "could not reach HOST: its address is no https URL; only https is allowed. " + fixRunner},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(Options{ResultsURL: tt.address, RuntimeToken: token(), Attempt: 1})
			if err != nil {
				t.Fatal(err)
			}
			s.service.pause = time.Millisecond
			u, _ := url.Parse(tt.address)
			for prefix, err := range map[string]error{
				couldNotStore: s.Write(t.Context(), job, document(checkpoint.Terminal, "a")),
				couldNotRead:  func() error { _, err := s.Read(t.Context(), job); return err }(),
			} {
				if err == nil {
					t.Fatal("there is no error")
				}
				if got, want := strings.ReplaceAll(err.Error(), u.Host, "HOST"), prefix+tt.want; got != want {
					t.Errorf("the error is\n%s\nwant\n%s", got, want)
				}
			}
		})
	}
}
