package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/control"
)

// AuditEvent is one request as the API server saw it.
type AuditEvent struct {
	Time        time.Time // when the stage was reached
	Stage       string    // ResponseComplete, ResponseStarted (watches and logs that go on), or Panic
	User        string
	UserAgent   string
	Verb        string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	Code        int // 0 when the server did not get so far as to answer
	RequestURI  string
}

// auditLine is an event as the API server writes it.
type auditLine struct {
	Stage          string
	StageTimestamp time.Time
	RequestURI     string
	Verb           string
	UserAgent      string
	User           struct{ Username string }
	ObjectRef      struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus struct{ Code int }
}

const auditMarker = "/readyz?audit-marker="

// Audit returns the requests that the filter takes (nil takes all), in the
// order in which they ended. While the API server answers, the result has every
// request that had been answered before the call.
func (c *Cluster) Audit(ctx context.Context, filter func(AuditEvent) bool) ([]AuditEvent, error) {
	path := filepath.Join(c.Dir(), control.AuditFile)
	// A client can have its answer before the event is written. A request of our
	// own, whose event comes later, shows that the others are there.
	marker := auditMarker + rand.Text()
	if err := c.mark(ctx, marker); err == nil {
		if err := c.waitInAudit(ctx, path, marker); err != nil {
			return nil, err
		}
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseAudit(b, filter)
}

// parseAudit leaves out a last line that is still being written.
func parseAudit(b []byte, filter func(AuditEvent) bool) ([]AuditEvent, error) {
	var all []AuditEvent
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b)+1)
	for lines.Scan() {
		var l auditLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("could not read the audit log: %w: %.200q", err, lines.Bytes())
		}
		e := AuditEvent{
			Time: l.StageTimestamp, Stage: l.Stage, User: l.User.Username, UserAgent: l.UserAgent, Verb: l.Verb,
			Resource: l.ObjectRef.Resource, Subresource: l.ObjectRef.Subresource,
			Namespace: l.ObjectRef.Namespace, Name: l.ObjectRef.Name,
			Code: l.ResponseStatus.Code, RequestURI: l.RequestURI,
		}
		ours := len(l.RequestURI) > len(auditMarker) && l.RequestURI[:len(auditMarker)] == auditMarker
		if !ours && (filter == nil || filter(e)) {
			all = append(all, e)
		}
	}
	return all, lines.Err()
}

// mark makes one request; a server that is stopped or paused gets none.
func (c *Cluster) mark(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	pem, err := os.ReadFile(c.CAFile())
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server()+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token(Admin))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (c *Cluster) waitInAudit(ctx context.Context, path, marker string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Contains(b, []byte(marker)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server answers but writes nothing to %s: %w", path, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}
