package peers

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

var _ standin.Storage = (*Azurite)(nil)

// signed returns a URL of azurite's that is good for a minute, or not any more.
func signed(t *testing.T, blob standin.SignedBlob) string {
	t.Helper()
	if blob.Expires.IsZero() {
		blob.Expires = time.Now().Add(time.Minute)
	}
	url, err := shared.azurite.SignedURL(blob)
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// upload is a client of the signed URL, which tries once.
func upload(t *testing.T, url string) *blockblob.Client {
	t.Helper()
	client, err := blockblob.NewClientWithNoCredential(url, &blockblob.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: &http.Client{Transport: shared.authority.Transport()}, Retry: policy.RetryOptions{MaxRetries: -1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func stage(t *testing.T, client *blockblob.Client, data []byte) error {
	t.Helper()
	_, err := client.StageBlock(t.Context(), "YmxvY2stMDAw", streaming.NopCloser(bytes.NewReader(data)), nil)
	return err
}

func TestSignedURLsOfAzuriteTakeBlocksAndGiveThemBack(t *testing.T) {
	t.Parallel()
	name, data := standin.Containers()[0]+"/run/blocks.zip", []byte("the content")
	client := upload(t, signed(t, standin.SignedBlob{Name: name, Write: true}))
	if err := stage(t, client, data); err != nil {
		t.Fatal(err)
	}
	if _, err := shared.azurite.Get(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("with blocks and no list, Get says %v, want fs.ErrNotExist", err)
	}
	if _, err := client.CommitBlockList(t.Context(), []string{"YmxvY2stMDAw"}, nil); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, signed(t, standin.SignedBlob{
		Name: name, ContentType: "application/zip", ContentDisposition: `attachment; filename="blocks.zip"`,
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := shared.authority.Transport().RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !bytes.Equal(got, data) {
		t.Errorf("the signed URL gives %d %q, %v", response.StatusCode, got, err)
	}
	if kind, as := response.Header.Get("Content-Type"), response.Header.Get("Content-Disposition"); kind != "application/zip" || as != `attachment; filename="blocks.zip"` {
		t.Errorf("the headers are %q and %q", kind, as)
	}
}

func TestSignedURLsOfAzuriteAreGoodForWhatTheySay(t *testing.T) {
	t.Parallel()
	name := standin.Containers()[1] + "/run/permissions"
	if err := shared.azurite.Put(t.Context(), name, []byte("before")); err != nil {
		t.Fatal(err)
	}
	write := signed(t, standin.SignedBlob{Name: name, Write: true})
	for _, c := range []struct {
		name, url string
		want      bloberror.Code
	}{
		{"a download's", signed(t, standin.SignedBlob{Name: name}), bloberror.AuthorizationPermissionMismatch},
		{"one that has ended", signed(t, standin.SignedBlob{Name: name, Write: true, Expires: time.Now().Add(-time.Second)}), bloberror.AuthorizationFailure},
		{"another blob's", strings.Replace(write, "/run/", "/other/", 1), bloberror.AuthorizationFailure},
	} {
		if err := stage(t, upload(t, c.url), []byte("after")); !bloberror.HasCode(err, c.want, bloberror.AuthenticationFailed) {
			t.Errorf("with %s URL an upload says %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := upload(t, write).DownloadStream(t.Context(), nil); !bloberror.HasCode(err, bloberror.AuthorizationPermissionMismatch) {
		t.Errorf("with an upload's URL a download says %v", err)
	}
	if got, err := shared.azurite.Get(t.Context(), name); err != nil || string(got) != "before" {
		t.Errorf("the blob is %q, %v", got, err)
	}
}

func TestAzuriteIsAStorageOfTheStandIn(t *testing.T) {
	t.Parallel()
	name := standin.Containers()[0] + "/run/storage"
	for _, content := range []string{"one", "another"} {
		if err := shared.azurite.Put(t.Context(), name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := shared.azurite.Get(t.Context(), name); err != nil || string(got) != content {
			t.Errorf("Get gives %q, %v, want %q", got, err, content)
		}
	}
	for range 2 {
		if err := shared.azurite.Delete(t.Context(), name); err != nil {
			t.Error(err)
		}
		if _, err := shared.azurite.Get(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after Delete, Get says %v", err)
		}
	}
}

func TestAzuriteEndsWithWhoStartedIt(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Azurite) error{
		"closed":     (*Azurite).Close,
		"left alone": func(a *Azurite) error { return a.stdin.Close() }, // as when we are killed
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := StartAzurite(t.Context(), shared.node, shared.authority, shared.ledger, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := end(a); err != nil {
				t.Error(err)
			}
			<-a.ended
			if err := syscall.Kill(a.process.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("process %d is still there: %v", a.process.Process.Pid, err)
			}
		})
	}
}

func TestAzuriteThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := &Node{program: shared.node.program, dir: dir}
	if err := os.WriteFile(dir+"/azurite.mjs", []byte("throw new Error('no such thing')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := StartAzurite(t.Context(), broken, shared.authority, shared.ledger, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("the error is %v", err)
	}
}
