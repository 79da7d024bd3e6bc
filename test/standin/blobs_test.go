package standin_test

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// theBlob is the name of the blob of a test.
const theBlob = "actions-results/run/workflow-job-run-job/artifacts/a b.zip"

// signed is a URL for the blob.
func (s *stores) signed(write bool) string {
	s.t.Helper()
	address, err := s.Blobs.SignedURL(standin.SignedBlob{Name: theBlob, Write: write, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		s.t.Fatal(err)
	}
	return address
}

// azblob is the SDK's client for a signed URL, which asks once.
func (s *stores) azblob(address string) *blockblob.Client {
	s.t.Helper()
	c, err := blockblob.NewClientWithNoCredential(address, &blockblob.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: s.client, Retry: policy.RetryOptions{MaxRetries: -1},
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// The SDK uploads in blocks and at once, downloads, and compares checksums.
func TestBlobsWithTheSDK(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	data := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	up, down := s.azblob(s.signed(true)), s.azblob(s.signed(false))
	if _, err := down.GetProperties(t.Context(), nil); !bloberror.HasCode(err, bloberror.BlobNotFound) {
		t.Errorf("%v", err)
	}
	_, err := up.UploadStream(t.Context(), bytes.NewReader(data), &blockblob.UploadStreamOptions{
		BlockSize: 1 << 20, Concurrency: 3, TransactionalValidation: blob.TransferValidationTypeComputeCRC64(),
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: new("application/zip")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Count("PutBlock") != 4 || s.Count("PutBlockList") != 1 {
		t.Errorf("%d blocks, %d lists", s.Count("PutBlock"), s.Count("PutBlockList"))
	}
	stream, err := down.DownloadStream(t.Context(), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 1_000_000, Count: 100}})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	part, err := io.ReadAll(stream.Body)
	if err != nil || !bytes.Equal(part, data[1_000_000:1_000_100]) || *stream.ContentRange != "bytes 1000000-1000099/3200000" {
		t.Errorf("%v: %d bytes, %s", err, len(part), *stream.ContentRange)
	}
	whole := make([]byte, len(data))
	if _, err := down.DownloadBuffer(t.Context(), whole, &blob.DownloadBufferOptions{BlockSize: 1 << 20}); err != nil || !bytes.Equal(whole, data) {
		t.Errorf("%v", err)
	}
	properties, err := down.GetProperties(t.Context(), nil)
	if err != nil || *properties.ContentLength != int64(len(data)) || *properties.ContentType != "application/zip" {
		t.Errorf("%v: %+v", err, properties)
	}
	small := []byte("small")
	if _, err := up.UploadBuffer(t.Context(), small, nil); err != nil || s.Count("PutBlob") != 1 {
		t.Errorf("%v", err)
	}
	if got, err := s.Blobs.Get(t.Context(), theBlob); err != nil || !bytes.Equal(got, small) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := down.UploadBuffer(t.Context(), small, nil); !bloberror.HasCode(err, bloberror.AuthorizationPermissionMismatch) {
		t.Errorf("%v", err)
	}
	if _, err := up.GetProperties(t.Context(), nil); !bloberror.HasCode(err, bloberror.AuthorizationPermissionMismatch) {
		t.Errorf("%v", err)
	}
}

// with changes the query of a URL.
func with(t *testing.T, address string, change func(url.Values)) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	change(q)
	u.RawQuery = q.Encode()
	return u.String()
}

func set(name, value string) func(url.Values) {
	return func(q url.Values) { q.Set(name, value) }
}

// Whatever of a signed URL is changed, it is good for nothing.
func TestSignedURLsAreChecked(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	if err := s.Blobs.Put(t.Context(), theBlob, []byte("content")); err != nil {
		t.Fatal(err)
	}
	good := s.signed(false)
	ended, err := s.Blobs.SignedURL(standin.SignedBlob{Name: theBlob, Expires: time.Now().Add(-time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		address string
		status  int
		code    string
	}{
		"as it is":          {good, 200, ""},
		"more":              {with(t, good, set("timeout", "30")), 200, ""},
		"no signature":      {with(t, good, func(q url.Values) { q.Del("sig") }), 401, "NoAuthenticationInformation"},
		"another signature": {with(t, good, set("sig", "AAAA")), 403, "AuthenticationFailed"},
		"other permissions": {with(t, good, set("sp", "rw")), 403, "AuthenticationFailed"},
		"longer":            {with(t, good, set("se", "2099-01-01T00:00:00Z")), 403, "AuthenticationFailed"},
		"another blob":      {strings.Replace(good, "a%20b", "b", 1), 403, "AuthenticationFailed"},
		"another type":      {with(t, good, set("rsct", "text/html")), 403, "AuthenticationFailed"},
		"ended":             {ended, 403, "AuthenticationFailed"},
		"another account":   {strings.Replace(good, "productionresultssa0", "other", 1), 400, "InvalidUri"},
	} {
		got := do(t, s.client, http.MethodGet, c.address, "")
		if got.Status != c.status || got.Header.Get("X-Ms-Error-Code") != c.code || got.Header.Get("X-Ms-Request-Id") == "" {
			t.Errorf("%s: %d: %s", name, got.Status, got.Body)
			continue
		}
		var said struct{ Code, Message string }
		if c.code != "" {
			if err := xml.Unmarshal(got.Body, &said); err != nil || said.Code != c.code || !strings.Contains(said.Message, "\nRequestId:") {
				t.Errorf("%s: %v: %s", name, err, got.Body)
			}
		}
	}
	if _, err := s.Blobs.SignedURL(standin.SignedBlob{Name: "elsewhere/a"}); err == nil {
		t.Error("a URL was signed for another container")
	}
	if err := s.Blobs.Put(t.Context(), "actions-cache/", nil); err == nil {
		t.Error("a blob was made without a name")
	}
}

// What is wrong with an upload is said in Azure's words, and stores nothing.
func TestUploadsAreChecked(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	at := s.signed(true)
	id := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	block := func(id string) string {
		return with(t, at, func(q url.Values) { q.Set("comp", "block"); q.Set("blockid", id) })
	}
	list := with(t, at, set("comp", "blocklist"))
	if got := do(t, s.client, http.MethodPut, block(id("0001")), "one"); got.Status != http.StatusCreated {
		t.Fatalf("%d: %s", got.Status, got.Body)
	}
	for name, c := range map[string]struct {
		address, body string
		header        []string
		status        int
		code          string
	}{
		"no type":             {at, "x", nil, 400, "MissingRequiredHeader"},
		"another type":        {at, "x", []string{"X-Ms-Blob-Type", "PageBlob"}, 400, "InvalidHeaderValue"},
		"no block id":         {block(""), "x", nil, 400, "InvalidQueryParameterValue"},
		"a block id in words": {block("no base64"), "x", nil, 400, "InvalidQueryParameterValue"},
		"a longer block id":   {block(id("000000002")), "x", nil, 400, "InvalidBlobOrBlock"},
		"an empty block":      {block(id("0002")), "", nil, 400, "InvalidHeaderValue"},
		"another checksum":    {block(id("0002")), "x", []string{"Content-MD5", id("0123456789abcdef")}, 400, "Md5Mismatch"},
		"another CRC":         {block(id("0002")), "x", []string{"X-Ms-Content-Crc64", id("01234567")}, 400, "Crc64Mismatch"},
		"an unknown block":    {list, "<BlockList><Latest>" + id("0009") + "</Latest></BlockList>", nil, 400, "InvalidBlockList"},
		"not yet committed":   {list, "<BlockList><Committed>" + id("0001") + "</Committed></BlockList>", nil, 400, "InvalidBlockList"},
		"no XML":              {list, "<BlockList>", nil, 400, "InvalidXmlDocument"},
		"another operation":   {with(t, at, set("comp", "page")), "x", nil, 405, "UnsupportedHttpVerb"},
	} {
		got := do(t, s.client, http.MethodPut, c.address, c.body, c.header...)
		if got.Status != c.status || got.Header.Get("X-Ms-Error-Code") != c.code {
			t.Errorf("%s: %d: %s", name, got.Status, got.Body)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, at, io.MultiReader(strings.NewReader("no length")))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Ms-Blob-Type", "BlockBlob")
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusLengthRequired {
		t.Errorf("%s", response.Status)
	}
	if _, err := s.Blobs.Get(t.Context(), theBlob); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a blob: %v", err)
	}
	if got := do(t, s.client, http.MethodPut, list, "<BlockList><Uncommitted>"+id("0001")+"</Uncommitted></BlockList>"); got.Status != http.StatusCreated {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	if got := do(t, s.client, http.MethodPut, at, "x", "X-Ms-Blob-Type", "BlockBlob", "If-None-Match", "*"); got.Status != http.StatusConflict {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	// The list may name what was committed again.
	if got := do(t, s.client, http.MethodPut, list, "<BlockList>"+strings.Repeat("<Latest>"+id("0001")+"</Latest>", 2)+"</BlockList>"); got.Status != http.StatusCreated {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	if got, err := s.Blobs.Get(t.Context(), theBlob); err != nil || string(got) != "oneone" {
		t.Errorf("%s, %v", got, err)
	}
}

// Parts of a blob are had by either header.
func TestBlobRanges(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	if err := s.Blobs.Put(t.Context(), theBlob, []byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[string]string{
		"bytes=0-3": "0123", "bytes=4-": "456789", "bytes=8-99": "89", "bytes=10-": "", "bytes=5-4": "", "bytes=-3": "", "rows=1": "",
	} {
		for _, header := range []string{"Range", "X-Ms-Range"} {
			got := do(t, s.client, http.MethodGet, s.signed(false), "", header, asked)
			if want == "" {
				if got.Status != http.StatusRequestedRangeNotSatisfiable || got.Header.Get("Content-Range") != "bytes */10" {
					t.Errorf("%s: %d: %s", asked, got.Status, got.Body)
				}
			} else if got.Status != http.StatusPartialContent || string(got.Body) != want {
				t.Errorf("%s: %d: %s", asked, got.Status, got.Body)
			}
		}
	}
	head := do(t, s.client, http.MethodHead, s.signed(false), "")
	if head.Status != http.StatusOK || len(head.Body) != 0 || head.Header.Get("Content-Length") != strconv.Itoa(10) {
		t.Errorf("%d %v: %s", head.Status, head.Header, head.Body)
	}
	if got := do(t, s.client, http.MethodGet, s.signed(false), "", "If-Match", head.Header.Get("ETag")); got.Status != http.StatusOK {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	if got := do(t, s.client, http.MethodGet, s.signed(false), "", "If-Match", `"0x1"`); got.Header.Get("X-Ms-Error-Code") != "ConditionNotMet" {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
}

// elsewhere is another blob server in the place of the stand-in's.
type elsewhere struct {
	*standin.BlobServer

	signed []standin.SignedBlob
}

func (e *elsewhere) SignedURL(b standin.SignedBlob) (string, error) {
	e.signed = append(e.signed, b)
	return e.BlobServer.SignedURL(b)
}

// The signed URLs point to whatever blob server was given.
func TestAnotherStorage(t *testing.T) {
	t.Parallel()
	authority, err := standin.NewAuthority("elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := standin.NewBlobServer(authority, standin.NewLedger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := blobs.Close(); err != nil {
			t.Error(err)
		}
	})
	other := &elsewhere{BlobServer: blobs}
	s := newStores(t, standin.StoresOptions{Storage: other})
	if s.Blobs != nil {
		t.Error("there are two blob servers")
	}
	created := s.call(s.Attempt(), "CreateArtifact", map[string]any{"name": "a", "version": 4})
	transport := authority.Transport()
	defer transport.CloseIdleConnections()
	got := do(t, &http.Client{Transport: transport}, http.MethodPut, created.text(t, "signed_upload_url"), "content", "X-Ms-Blob-Type", "BlockBlob")
	if got.Status != http.StatusCreated {
		t.Fatalf("%d: %s", got.Status, got.Body)
	}
	if got := s.call(s.Attempt(), "FinalizeArtifact", finalizeFields("a", []byte("content"))); got.Status != http.StatusOK {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	if len(other.signed) != 1 || !other.signed[0].Write || !strings.HasPrefix(other.signed[0].Name, standin.Containers()[0]+"/") {
		t.Errorf("%+v", other.signed)
	}
}
