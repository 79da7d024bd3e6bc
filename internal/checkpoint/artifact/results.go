package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

const (
	// maxList bounds an answer of the results service, in bytes. Its list is not
	// paged; a job has at most 500 artifacts, of some 400 bytes each.
	maxList = 64 << 20
	// maxDays is how long a record is kept at most. A run can be run again for 30
	// days.
	maxDays = 90

	methods = "/twirp/github.actions.results.api.v1.ArtifactService/"
)

// results asks the results service, in Twirp's JSON form
// (https://twitchtv.github.io/twirp/docs/spec_v7.html). GitHub answers with the
// names of the protocol buffers, others with the same in camel case.
type results struct {
	service service
	client  doer
	origin  string
	host    string
	token   string
	agent   string
	self    identity
	days    int
	now     func() time.Time
	pace    pace
}

func newResults(o Options, client doer, masks *secret.Masked, p pace) (*results, error) {
	switch {
	case o.ResultsURL == "":
		return nil, missing("ACTIONS_RESULTS_URL", "where the results service is")
	case o.RuntimeToken == "":
		return nil, missing("ACTIONS_RUNTIME_TOKEN", "what the results service is asked with")
	}
	u, err := url.Parse(o.ResultsURL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, storeFailed("the results service cannot be asked: ACTIONS_RESULTS_URL is not an https URL").WithFix(fixRunner)
	}
	self, ok := identityIn(o.RuntimeToken)
	if !ok {
		return nil, storeFailed("the results service cannot be asked: ACTIONS_RUNTIME_TOKEN says of no run and job that it is for (claim scp, Actions.Results)").WithFix(fixRunner)
	}
	return &results{
		service: service{resultsName, masks}, client: client, origin: u.Scheme + "://" + u.Host, host: u.Host,
		token: o.RuntimeToken, agent: agent(o), self: self, days: min(o.RetentionDays, maxDays), now: o.Now, pace: p,
	}, nil
}

// call asks for one method, until there is an answer. read is given its body.
func (r *results) call(ctx context.Context, doing, method string, request map[string]any, read func(io.Reader) error) error {
	if _, ok := request["workflow_run_backend_id"]; !ok {
		request["workflow_run_backend_id"], request["workflow_job_run_backend_id"] = r.self.run, r.self.job
	}
	body, err := json.Marshal(request)
	if err != nil {
		return storeFailed("%s: %w", doing, err)
	}
	return r.pace.do(ctx, doing, func(ctx context.Context) *trouble { return r.once(ctx, method, body, read) })
}

func (r *results) once(ctx context.Context, method string, body []byte, read func(io.Reader) error) *trouble {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.origin+methods+method, bytes.NewReader(body))
	if err != nil {
		return r.service.unanswered(r.host, err)
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", r.agent)
	resp, err := r.client.Do(req)
	if err != nil {
		return r.service.unanswered(r.host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var refusal struct{ Code, Msg string }
		data := readRefusal(resp)
		if json.Unmarshal(data, &refusal) != nil {
			refusal.Msg = string(data)
		}
		return r.service.refused(r.host, resp, refusal.Code, refusal.Msg)
	}
	answer := &tracked{Reader: resp.Body}
	if err := read(answer); err != nil {
		if answer.err != nil {
			return r.service.unanswered(r.host, answer.err)
		}
		return r.service.odd(r.host, resp.StatusCode, "%w", err)
	}
	return nil
}

// tracked keeps the error of a reader, which a decoder may put another in place of.
type tracked struct {
	io.Reader
	err error
}

// Read implements [io.Reader].
func (t *tracked) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}

// create makes an artifact and returns where its content has to go.
func (r *results) create(ctx context.Context, n name) (string, error) {
	request := map[string]any{"name": n.String(), "version": 4}
	if r.days > 0 {
		request["expires_at"] = r.now().UTC().AddDate(0, 0, r.days).Format(time.RFC3339)
	}
	var answer created
	if err := r.call(ctx, "creating the artifact "+n.String(), "CreateArtifact", request, decode(&answer)); err != nil {
		return "", err
	}
	address := answer.url()
	r.service.secrets.AddSigned(address)
	return address, nil
}

// finalize ends the making of an artifact, and returns its id.
func (r *results) finalize(ctx context.Context, n name, data []byte) (int64, error) {
	var answer finalized
	err := r.call(ctx, "finalizing the artifact "+n.String(), "FinalizeArtifact", map[string]any{
		"name": n.String(), "size": strconv.Itoa(len(data)), "hash": digestOf(data),
	}, decode(&answer))
	return answer.id(), err
}

// list returns the artifacts that the service shows and whose names are ours.
func (r *results) list(ctx context.Context) ([]row, error) {
	var rows []row
	err := r.call(ctx, listingArtifacts, "ListArtifacts", map[string]any{}, func(body io.Reader) error {
		rows = nil // An earlier try may have got some.
		return decodeList(body, func(l listed) {
			if row, ok := l.row(); ok {
				rows = append(rows, row)
			}
		})
	})
	return rows, err
}

// signedURL returns where the content of an artifact is.
func (r *results) signedURL(ctx context.Context, of row) (string, error) {
	var answer located
	err := r.call(ctx, "locating the artifact "+of.name.String(), "GetSignedArtifactURL", of.request(), decode(&answer))
	if err != nil {
		return "", err
	}
	address := answer.url()
	r.service.secrets.AddSigned(address)
	return address, nil
}

// remove deletes an artifact.
func (r *results) remove(ctx context.Context, of row) error {
	var answer finalized
	return r.call(ctx, "deleting the artifact "+of.name.String(), "DeleteArtifact", of.request(), decode(&answer))
}

// request names a row as the service listed it.
func (r row) request() map[string]any {
	return map[string]any{"workflow_run_backend_id": r.run, "workflow_job_run_backend_id": r.job, "name": r.name.String()}
}

// statusOf returns the status of the answer that err is about, 0 when there was none.
func statusOf(err error) int {
	if t, ok := errors.AsType[*trouble](err); ok && t.err == nil {
		return t.status
	}
	return 0
}
