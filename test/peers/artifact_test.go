package peers

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/artifact"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/peers/records"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// openArtifacts is our store in a job, without a github token if there is none.
func openArtifacts(t *testing.T, stores *standin.Stores, attempt standin.Attempt, token string) *artifact.Store {
	t.Helper()
	env := attempt.Env()
	days, err := strconv.Atoi(env["GITHUB_RETENTION_DAYS"])
	if err != nil {
		t.Fatal(err)
	}
	store, err := artifact.Open(t.Context(), artifact.Options{
		ResultsURL: env["ACTIONS_RESULTS_URL"], RuntimeToken: attempt.RuntimeToken, APIURL: stores.REST.URL, Token: token,
		Repository: env["GITHUB_REPOSITORY"], RunID: attempt.RunID, Attempt: attempt.Number, RetentionDays: days,
		Version: "v0.0.0-test", RootCAs: shared.authority.Pool(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func readArtifacts(t *testing.T, store *artifact.Store) checkpoint.Found {
	t.Helper()
	found, err := store.Read(t.Context(), records.Execution)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// listed is an artifact as the official client tells of it.
type listed struct {
	Name   string
	ID     int64
	Size   int64
	Digest string
}

// ways are the two ways of the official client to artifacts: the results service of
// its own run, and the REST API.
var ways = map[string]func(attempt standin.Attempt) map[string]any{
	"results service": func(standin.Attempt) map[string]any { return map[string]any{} },
	"REST API": func(attempt standin.Attempt) map[string]any {
		return map[string]any{"findBy": map[string]any{
			"token": attempt.Token, "workflowRunId": attempt.RunID, "repositoryOwner": "acme", "repositoryName": "orders",
		}}
	},
}

func TestTheOfficialClientDownloadsTheRecordsThatWeStored(t *testing.T) {
	t.Parallel()
	for name, options := range ways {
		t.Run("by the "+name, func(t *testing.T) {
			t.Parallel()
			all := records.All(t)
			stores := github(t, standin.StoresOptions{})
			attempt := stores.Attempt()
			store := openArtifacts(t, stores, attempt, attempt.Token)
			store.Reserve(t.Context(), records.Execution, checkpoint.Intent)
			if err := store.Write(t.Context(), records.Execution, all[checkpoint.Prepared], all[checkpoint.Intent]); err != nil {
				t.Fatal(err)
			}
			if err := store.Write(t.Context(), records.Execution, all[checkpoint.Terminal]); err != nil {
				t.Fatal(err)
			}
			ours := store.Artifacts()
			if len(ours) != 2 {
				t.Fatalf("stored are %+v", ours)
			}
			intent, terminal := ours[0], ours[1]

			j, how := newJob(t, stores.NextJob()), options(attempt)
			to := func(dir string) map[string]any {
				how := options(attempt)
				how["path"] = filepath.Join(j.workspace, dir)
				for _, row := range stores.Artifacts() {
					if row.Name == intent.Name && dir == "intent" || row.Name == terminal.Name && dir == "terminal" {
						how["expectedHash"] = row.Digest
					}
				}
				return how
			}
			answers := j.call(t, "artifact",
				call{"listArtifacts", how},
				call{"getArtifact", intent.Name, how},
				call{"downloadArtifact", intent.ID, to("intent")},
				call{"downloadArtifact", terminal.ID, to("terminal")})
			var list struct{ Artifacts []listed }
			answers[0].into(t, &list)
			if len(list.Artifacts) != 2 {
				t.Errorf("the client lists %+v", list)
			}
			var got struct{ Artifact listed }
			answers[1].into(t, &got)
			if got.Artifact.ID != intent.ID || !slices.Contains(list.Artifacts, got.Artifact) || got.Artifact.Size == 0 {
				t.Errorf("the client gets %+v, want the id %d", got, intent.ID)
			}
			for _, a := range answers[2:] {
				var download struct{ DigestMismatch *bool }
				if a.into(t, &download); download.DigestMismatch == nil || *download.DigestMismatch {
					t.Errorf("the digest does not fit: %s", a.Value)
				}
			}
			holds(t, filepath.Join(j.workspace, "intent"), records.Files(all[checkpoint.Prepared], all[checkpoint.Intent]))
			holds(t, filepath.Join(j.workspace, "terminal"), records.Files(all[checkpoint.Terminal]))
		})
	}
}

// A person's unpacked artifact is a work folder: names, and files that are one's own.
func TestWhatTheOfficialClientUploadsWeRead(t *testing.T) {
	t.Parallel()
	all := records.All(t)
	stores := github(t, standin.StoresOptions{})
	attempt := stores.Attempt()
	j := newJob(t, attempt)
	upload := func(name string, compression int, documents ...checkpoint.Document) call {
		return call{"uploadArtifact", name, j.write(t, records.Files(documents...)), j.workspace, map[string]any{"compressionLevel": compression}}
	}
	for _, a := range j.call(t, "artifact",
		upload(records.Execution+".dispatch-intent.1", 6, all[checkpoint.Prepared], all[checkpoint.Intent]),
		upload(records.Execution+".terminal.1", 0, all[checkpoint.Terminal]),
		upload("coverage", 9, all[checkpoint.Dispatched]), // not by that name
	) {
		var uploaded struct{ ID, Size int64 }
		if a.into(t, &uploaded); uploaded.ID == 0 || uploaded.Size == 0 {
			t.Errorf("the client uploaded %s", a.Value)
		}
	}
	want := []checkpoint.Document{all[checkpoint.Prepared], all[checkpoint.Intent], all[checkpoint.Terminal]}
	for name, token := range map[string]string{"by both": attempt.Token, "by the results service": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records.Same(t, readArtifacts(t, openArtifacts(t, stores, attempt, token)), want...)
		})
	}
	t.Run("by the REST API in a re-run of all jobs", func(t *testing.T) {
		next := stores.NextAttempt(standin.RerunAll)
		found := readArtifacts(t, openArtifacts(t, stores, next, next.Token))
		records.Same(t, found, want...)
		if !found.Complete {
			t.Error("what was found is not complete")
		}
	})
}

// With skipArchive the client stores the file itself, under the file's own name,
// which then is the artifact's.
func TestARawFileOfTheOfficialClientIsACopyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	all := records.All(t)
	stores := github(t, standin.StoresOptions{})
	attempt := stores.Attempt()
	j := newJob(t, attempt)
	name := records.Execution + ".dispatch-intent.1"
	files := j.write(t, map[string][]byte{name: all[checkpoint.Intent].Data})
	var uploaded struct{ ID int64 }
	j.call(t, "artifact", call{"uploadArtifact", "ignored", files, j.workspace, map[string]any{"skipArchive": true}})[0].into(t, &uploaded)
	store := openArtifacts(t, stores, attempt, attempt.Token)
	found := readArtifacts(t, store)
	if len(found.Copies) != 1 || found.Copies[0].Step != checkpoint.Intent || found.Copies[0].Err == nil {
		t.Fatalf("found is %+v", found)
	}
	// It is in the way of nothing.
	if err := store.Write(t.Context(), records.Execution, all[checkpoint.Prepared], all[checkpoint.Intent]); err != nil {
		t.Fatal(err)
	}
	if ours := store.Artifacts(); len(ours) != 1 || ours[0].Name != name+".2" {
		t.Errorf("stored are %+v", ours)
	}
}

func TestTheOfficialClientSeesTheNameOfARecordTaken(t *testing.T) {
	t.Parallel()
	all := records.All(t)
	stores := github(t, standin.StoresOptions{})
	attempt := stores.Attempt()
	store := openArtifacts(t, stores, attempt, attempt.Token)
	if err := store.Write(t.Context(), records.Execution, all[checkpoint.Terminal]); err != nil {
		t.Fatal(err)
	}
	j := newJob(t, attempt)
	answers := j.call(t, "artifact", call{
		"uploadArtifact", records.Execution + ".terminal.1", j.write(t, records.Files(all[checkpoint.Intent])), j.workspace, map[string]any{},
	}, call{"deleteArtifact", records.Execution + ".terminal.1"})
	if answers[0].Error == "" {
		t.Errorf("the client stored another in its place: %s", answers[0].Value)
	}
	var deleted struct{ ID int64 }
	if answers[1].into(t, &deleted); deleted.ID != store.Artifacts()[0].ID {
		t.Errorf("the client deleted %+v, want %+v", deleted, store.Artifacts())
	}
	records.Same(t, readArtifacts(t, openArtifacts(t, stores, attempt, attempt.Token)))
}

// ending is azurite with upload addresses that have ended, as many as are left.
type ending struct {
	*Azurite
	left atomic.Int32
}

func (e *ending) SignedURL(blob standin.SignedBlob) (string, error) {
	if blob.Write && e.left.Add(-1) >= 0 {
		blob.Expires = time.Now().Add(-time.Second)
	}
	return e.Azurite.SignedURL(blob)
}

// What azurite says then is what Azure says: a reservation may be older than the
// address that it got.
func TestAnUploadAddressThatHasEndedCostsANameAndNoRecord(t *testing.T) {
	t.Parallel()
	all := records.All(t)
	storage := &ending{Azurite: shared.azurite}
	storage.left.Store(1)
	stores := github(t, standin.StoresOptions{Storage: storage})
	attempt := stores.Attempt()
	store := openArtifacts(t, stores, attempt, attempt.Token)
	store.Reserve(t.Context(), records.Execution, checkpoint.Intent)
	if err := store.Write(t.Context(), records.Execution, all[checkpoint.Prepared], all[checkpoint.Intent]); err != nil {
		t.Fatal(err)
	}
	if ours := store.Artifacts(); len(ours) != 1 || ours[0].Name != records.Execution+".dispatch-intent.1.2" {
		t.Errorf("stored are %+v", ours)
	}
	records.Same(t, readArtifacts(t, openArtifacts(t, stores, attempt, attempt.Token)), all[checkpoint.Prepared], all[checkpoint.Intent])

	storage.left.Store(1000)
	err := store.Write(t.Context(), records.Execution, all[checkpoint.Terminal])
	if failure.CodeOf(err) != failure.CheckpointStoreFailed || !strings.Contains(err.Error(), "403") {
		t.Errorf("with no address that is good the error is %v", err)
	}
	if found := shared.ledger.Scan("the error", []byte(err.Error())); len(found) > 0 {
		t.Error(found)
	}
}

// A blob that is gone is a copy that cannot be read, whichever way it is asked for.
func TestARecordWhoseBlobIsGoneIsACopyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	all := records.All(t)
	stores := github(t, standin.StoresOptions{})
	attempt := stores.Attempt()
	store := openArtifacts(t, stores, attempt, attempt.Token)
	if err := store.Write(t.Context(), records.Execution, all[checkpoint.Terminal]); err != nil {
		t.Fatal(err)
	}
	if err := stores.LoseArtifactData(store.Artifacts()[0].ID); err != nil {
		t.Fatal(err)
	}
	found := readArtifacts(t, openArtifacts(t, stores, attempt, attempt.Token))
	if len(found.Copies) != 1 || found.Copies[0].Err == nil || !strings.Contains(found.Copies[0].Err.Error(), "BlobNotFound") {
		t.Fatalf("found is %+v", found)
	}
	if text := found.Copies[0].Err.Error(); len(shared.ledger.Scan("the error", []byte(text))) > 0 {
		t.Errorf("there is a secret in %q", text)
	}
}
