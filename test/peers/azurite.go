package peers

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// account is the name of the storage account, as one of GitHub's own.
const account = "productionresultssa0"

// Azurite is azurite's blob server, on a port of 127.0.0.1 with TLS. It
// implements [standin.Storage] with Azure's own library.
type Azurite struct {
	// URL is that of the account.
	URL string

	credential *azblob.SharedKeyCredential
	client     *azblob.Client
	ledger     *standin.Ledger
	process    *exec.Cmd
	stdin      io.Closer
	ended      chan struct{} // closed when the process is gone
	log        log
}

// StartAzurite starts a server that has the containers of the stand-in and keeps
// everything in the folder dir, made when it is not there, with a certificate of the authority and a new account key.
func StartAzurite(ctx context.Context, node *Node, authority *standin.Authority, ledger *standin.Ledger, dir string) (*Azurite, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	cert, key, err := writeCertificate(authority, dir)
	if err != nil {
		return nil, err
	}
	secret := make([]byte, 64)
	_, _ = rand.Read(secret) // It never fails.
	accountKey := base64.StdEncoding.EncodeToString(secret)
	a := &Azurite{ledger: ledger, ended: make(chan struct{})}
	ledger.AddText("the key of the storage account", accountKey)
	if a.credential, err = azblob.NewSharedKeyCredential(account, accountKey); err != nil {
		return nil, err
	}
	if err := a.start(ctx, node.command(context.WithoutCancel(ctx), map[string]string{"AZURITE_ACCOUNTS": account + ":" + accountKey, "HOME": dir}, "azurite.mjs",
		"--blobHost", "127.0.0.1", "--blobPort", "0", "--cert", cert, "--key", key, "--location", dir,
		"--disableTelemetry", "--disableProductStyleUrl", "--silent",
		// Azure's library is newer than azurite, and uses nothing of what is new.
		"--skipApiVersionCheck")); err != nil {
		return nil, err
	}
	options := &azblob.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: &http.Client{Transport: authority.Transport()}, Retry: policy.RetryOptions{MaxRetries: -1},
	}}
	if a.client, err = azblob.NewClientWithSharedKeyCredential(a.URL, a.credential, options); err == nil {
		err = a.makeContainers(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *Azurite) makeContainers(ctx context.Context) error {
	for _, name := range standin.Containers() {
		if _, err := a.client.CreateContainer(ctx, name, nil); err != nil {
			return fmt.Errorf("could not make the container %s in azurite: %w", name, err)
		}
	}
	return nil
}

// SignedURL implements [standin.Storage].
func (a *Azurite) SignedURL(signed standin.SignedBlob) (string, error) {
	container, path, _ := strings.Cut(signed.Name, "/")
	query, err := sas.BlobSignatureValues{
		Protocol: sas.ProtocolHTTPS, StartTime: time.Now().Add(-time.Minute).UTC(), ExpiryTime: signed.Expires.UTC(),
		Permissions:   (&sas.BlobPermissions{Read: !signed.Write, Create: signed.Write, Write: signed.Write}).String(),
		ContainerName: container, BlobName: path,
		ContentType: signed.ContentType, ContentDisposition: signed.ContentDisposition,
	}.SignWithSharedKey(a.credential)
	if err != nil {
		return "", fmt.Errorf("could not sign a URL of the blob %s: %w", signed.Name, err)
	}
	a.ledger.AddText("the signature of a blob's URL", query.Signature())
	// With the slashes in the name as they are, as GitHub has them: Azure's library
	// escapes them too.
	return a.URL + (&url.URL{Path: "/" + signed.Name}).EscapedPath() + "?" + query.Encode(), nil
}

// Get implements [standin.Storage].
func (a *Azurite) Get(ctx context.Context, name string) ([]byte, error) {
	response, err := a.blob(name).DownloadStream(ctx, nil)
	if bloberror.HasCode(err, bloberror.BlobNotFound) {
		return nil, fmt.Errorf("the blob %s: %w", name, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("could not read the blob %s: %w", name, err)
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// Put implements [standin.Storage].
func (a *Azurite) Put(ctx context.Context, name string, data []byte) error {
	container, path, _ := strings.Cut(name, "/")
	if _, err := a.client.UploadBuffer(ctx, container, path, data, nil); err != nil {
		return fmt.Errorf("could not write the blob %s: %w", name, err)
	}
	return nil
}

// Delete implements [standin.Storage].
func (a *Azurite) Delete(ctx context.Context, name string) error {
	if _, err := a.blob(name).Delete(ctx, nil); err != nil && !bloberror.HasCode(err, bloberror.BlobNotFound) {
		return fmt.Errorf("could not delete the blob %s: %w", name, err)
	}
	return nil
}

func (a *Azurite) blob(name string) *blob.Client {
	container, path, _ := strings.Cut(name, "/")
	return a.client.ServiceClient().NewContainerClient(container).NewBlobClient(path)
}
