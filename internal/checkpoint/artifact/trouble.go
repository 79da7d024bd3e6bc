package artifact

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// trouble is why something was not done: no answer, a refusal, or an answer that is
// not one of the service.
type trouble struct {
	service *service
	host    string
	doing   string // set by [pace.do], as are these
	tries   int
	// mayBeDone says that this or an earlier try may have had its effect.
	mayBeDone bool

	err     error  // why there is no answer
	status  int    // of the answer
	code    string // the service's own word for it
	said    string // cleaned
	after   time.Duration
	limited bool // refused for being asked too often
}

// Error tells what came back, in the words for people.
func (t *trouble) Error() string { return t.failure().Error() }

func (t *trouble) temporary() bool {
	if t.err != nil {
		return network.CauseOf(t.err).Temporary() && !errors.Is(t.err, errAnswer)
	}
	return passing(t.status) && !t.full() || t.limited && t.after > 0
}

// unsure reports whether the request may have had its effect although there is no
// word of it.
func (t *trouble) unsure() bool {
	if t.err != nil {
		cause := network.CauseOf(t.err)
		return !cause.Dialing && cause.Kind != network.AddressRefused
	}
	return t.status/100 == 5
}

// errAnswer says that an answer is not one of the service.
var errAnswer = errors.New("the answer is not one of the service")

// service is one of those that are asked.
type service struct {
	name    string
	secrets *secret.Masked
}

// maxForeign is how many characters of what a service wrote are shown.
const maxForeign = 300

// clean returns what a service wrote as one line that can be shown.
func (s *service) clean(text string) string {
	return escape.Foreign(text, s.secrets.Hide, maxForeign)
}

// unanswered is the trouble of a request without an answer.
func (s *service) unanswered(host string, err error) *trouble {
	return &trouble{service: s, host: host, err: err}
}

// odd is that of an answer which cannot be read.
func (s *service) odd(host string, status int, format string, args ...any) *trouble {
	return &trouble{service: s, host: host, status: status, err: fmt.Errorf("%w: "+format, append([]any{errAnswer}, args...)...)}
}

// refused is the trouble of an answer that is no success.
func (s *service) refused(host string, resp *http.Response, code, said string) *trouble {
	return &trouble{
		service: s, host: host, status: resp.StatusCode,
		code: s.clean(code), said: s.clean(said), after: network.RetryAfter(resp.Header, time.Hour),
	}
}

// maxRefusal bounds what is read of a refusal, in bytes.
const maxRefusal = 64 << 10

func readRefusal(resp *http.Response) []byte {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // What came is enough.
	return data
}
