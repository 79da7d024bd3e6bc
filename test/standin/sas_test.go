package standin

import (
	"encoding/base64"
	"net/url"
	"testing"
	"time"

	azureblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
)

// The signature is the one that Azure's SDK makes with the same key.
func TestSignatureIsAzures(t *testing.T) {
	t.Parallel()
	b := &BlobServer{Server: &Server{URL: "https://127.0.0.1:1"}, ledger: NewLedger(), key: []byte("a key of an account, which is any bytes")}
	address, err := b.SignedURL(SignedBlob{
		Name: "actions-results/run/a b.zip", Expires: time.Now().Add(time.Hour), ContentType: "application/zip", ContentDisposition: "attachment; filename=a.zip",
	})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	at := func(name string) time.Time {
		parsed, err := time.Parse(time.RFC3339, q.Get(name))
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	credential, err := azureblob.NewSharedKeyCredential(blobAccount, base64.StdEncoding.EncodeToString(b.key))
	if err != nil {
		t.Fatal(err)
	}
	want, err := sas.BlobSignatureValues{
		Version: q.Get("sv"), Protocol: sas.ProtocolHTTPS, StartTime: at("st"), ExpiryTime: at("se"), Permissions: "r",
		ContainerName: "actions-results", BlobName: "run/a b.zip", ContentType: "application/zip", ContentDisposition: "attachment; filename=a.zip",
	}.SignWithSharedKey(credential)
	if err != nil {
		t.Fatal(err)
	}
	if got := q.Get("sig"); got != want.Signature() {
		t.Errorf("%s, the SDK signs %s", got, want.Signature())
	}
}
