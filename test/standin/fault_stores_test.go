package standin_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// fails sends a request that has to fail without an answer.
func (s *stores) fails(method, address, body string, header ...string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := s.client.Do(r)
	if err == nil {
		defer response.Body.Close()
		s.t.Errorf("it was answered: %s", response.Status)
	}
}

// An answer can be lost, or be another one, after what was asked has taken effect.
func TestAnswersAreLost(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	a := s.Attempt()
	address := a.Env()["ACTIONS_RESULTS_URL"] + "twirp/github.actions.results.api.v1.ArtifactService/CreateArtifact"
	body := func(name string) string {
		return `{"workflow_run_backend_id":"` + a.RunBackendID + `","workflow_job_run_backend_id":"` + a.JobBackendID + `","name":"` + name + `","version":4}`
	}
	header := []string{"Authorization", "Bearer " + a.RuntimeToken, "Content-Type", "application/json"}
	s.Results.On(standin.Operation("CreateArtifact"), 1, standin.Lost())
	s.fails(http.MethodPost, address, body("a"), header...)
	s.Results.On(standin.Operation("CreateArtifact"), 1, standin.LostStatus(http.StatusBadGateway, "Retry-After", "1"))
	if got := do(t, s.client, http.MethodPost, address, body("b"), header...); got.Status != http.StatusBadGateway || got.Header.Get("Retry-After") != "1" {
		t.Errorf("%d: %v", got.Status, got.Header)
	}
	s.Results.On(standin.Operation("CreateArtifact"), 1, standin.TwirpError("resource_exhausted", "slow down", "Retry-After", "2"))
	if got := do(t, s.client, http.MethodPost, address, body("c"), header...); got.Status != http.StatusTooManyRequests ||
		got.code(t) != "resource_exhausted" || got.text(t, "msg") != "slow down" || got.Header.Get("Retry-After") != "2" {
		t.Errorf("%d %v: %s", got.Status, got.Header, got.Body)
	}
	if got := s.Artifacts(); len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" {
		t.Errorf("%+v", got)
	}
	if got := s.Count("CreateArtifact"); got != 3 {
		t.Errorf("%d requests", got)
	}
}

// A finalize that is lost leaves the artifact in the lists.
func TestFinalizeIsLost(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	a, data := s.Attempt(), []byte("content")
	s.upload(s.call(a, "CreateArtifact", map[string]any{"name": "a", "version": 4}).text(t, "signed_upload_url"), data)
	s.Results.On(standin.Operation("FinalizeArtifact"), 1, standin.LostStatus(http.StatusServiceUnavailable))
	if got := s.call(a, "FinalizeArtifact", finalizeFields("a", data)); got.Status != http.StatusServiceUnavailable {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	if got := names(s.list(a, nil)); got != "a" {
		t.Errorf("listed: %s", got)
	}
}

// An upload that is cut leaves nothing, a download that is cut says how long it
// would have been.
func TestTransfersAreCut(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	data := bytes.Repeat([]byte("0123456789"), 10_000)
	s.Blobs.On(standin.Operation("PutBlob"), 1, standin.CutUpload(1000))
	s.fails(http.MethodPut, s.signed(true), string(data), "X-Ms-Blob-Type", "BlockBlob")
	if got := s.Blobs.Names(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if err := s.Blobs.Put(t.Context(), theBlob, data); err != nil {
		t.Fatal(err)
	}
	s.Blobs.On(standin.Operation("GetBlob"), 1, standin.CutDownload(1000))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.signed(false), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err == nil || len(got) != 1000 || response.ContentLength != 100_000 {
		t.Errorf("%v: %d bytes of %d", err, len(got), response.ContentLength)
	}
}

// All servers wait, and all requests are counted, in their order.
func TestStoresAreSlow(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	a := s.Attempt()
	s.store(a, "a", []byte("content"))
	before := s.Count()
	s.SetDelay(time.Hour)
	for i, address := range []string{a.Env()["ACTIONS_RESULTS_URL"], a.Env()["GITHUB_API_URL"], s.Blobs.URL} {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for s.Count() <= before+i && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel() // It was received, and waits.
		}()
		if response, err := s.client.Do(r); err == nil {
			t.Errorf("%s was answered: %s", address, response.Status)
			_ = response.Body.Close()
		}
		cancel()
	}
	s.SetDelay(0)
	requests := s.Requests()
	if before != 4 || len(requests) != 7 {
		t.Errorf("%d requests, then %d", before, len(requests))
	}
	for i, want := range []string{"CreateArtifact", "PutBlock", "PutBlockList", "FinalizeArtifact", "", "", ""} {
		if requests[i].Operation != want {
			t.Errorf("request %d is %s, want %s", i+1, requests[i].Operation, want)
		}
	}
}
