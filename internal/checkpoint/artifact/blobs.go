package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// blobs moves contents to and from signed addresses. No address is in an error of
// its: it is all that it takes to read or write.
type blobs struct {
	client  doer
	secrets *secret.Masked
	pace    pace
	agent   string
	// plain says that the results service has no TLS, on this machine: then the
	// storage need not have any.
	plain bool
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// upload puts a content in the place of a blob: one block and the list of it, as the
// official client does. A block that is not in a list is nothing, so that a content
// is there whole or not at all.
func (b *blobs) upload(ctx context.Context, n name, address string, data []byte) error {
	doing := "uploading the artifact " + n.String()
	s, host, err := b.at(address)
	if err != nil {
		return b.pace.do(ctx, doing, func(context.Context) *trouble { return s.odd(host, 0, "%w", err) })
	}
	// The SDK's own retries would outlast ctx's and know nothing of the others.
	options := &blockblob.ClientOptions{ClientOptions: policy.ClientOptions{
		Transport: b.client,
		Retry:     policy.RetryOptions{MaxRetries: -1},
		Telemetry: policy.TelemetryOptions{ApplicationID: b.agent},
	}}
	c, err := blockblob.NewClientWithNoCredential(address, options)
	if err != nil {
		return b.pace.do(ctx, doing, func(context.Context) *trouble {
			return s.odd(host, 0, "its address cannot be used")
		})
	}
	id := base64.StdEncoding.EncodeToString([]byte("00000000"))
	err = b.pace.do(ctx, doing, func(ctx context.Context) *trouble {
		_, err := c.StageBlock(ctx, id, streaming.NopCloser(bytes.NewReader(data)), nil)
		return b.trouble(s, host, err)
	})
	if err != nil {
		return err
	}
	contentType := "application/zip"
	return b.pace.do(ctx, doing, func(ctx context.Context) *trouble {
		_, err := c.CommitBlockList(ctx, []string{id}, &blockblob.CommitBlockListOptions{
			HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &contentType},
		})
		return b.trouble(s, host, err)
	})
}

// download returns the content behind an address, at most as much as a bundle has.
// The address need not be one of Azure Storage.
func (b *blobs) download(ctx context.Context, n name, address string) ([]byte, error) {
	s, host, err := b.at(address)
	var data []byte
	return data, b.pace.do(ctx, "downloading the artifact "+n.String(), func(ctx context.Context) *trouble {
		if err != nil {
			return s.odd(host, 0, "%w", err)
		}
		var t *trouble
		data, t = b.get(ctx, s, host, address)
		return t
	})
}

func (b *blobs) get(ctx context.Context, s *service, host, address string) ([]byte, *trouble) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, s.odd(host, 0, "its address cannot be used")
	}
	req.Header.Set("User-Agent", b.agent)
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, s.unanswered(host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, s.refused(host, resp, resp.Header.Get("X-Ms-Error-Code"), "")
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, bundle.MaxSize+1))
	if err != nil {
		return nil, s.unanswered(host, err)
	}
	if len(data) > bundle.MaxSize {
		return nil, s.unanswered(host, &network.TooLargeError{Limit: bundle.MaxSize})
	}
	return data, nil
}

// at returns the service behind an address.
func (b *blobs) at(address string) (*service, string, error) {
	s := &service{storageName, b.secrets}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return s, "the storage", errors.New("the address of the content is no URL")
	}
	// Who is asked by TLS must not have this machine ask its own services.
	if u.Scheme != "https" && (u.Scheme != "http" || !b.plain) {
		return s, u.Host, errors.New("the address of the content is not an https URL")
	}
	return s, u.Host, nil
}

// trouble tells what an error of the SDK means.
func (b *blobs) trouble(s *service, host string, err error) *trouble {
	if err == nil {
		return nil
	}
	if answer, ok := errors.AsType[*azcore.ResponseError](err); ok && answer.RawResponse != nil {
		if answer.StatusCode/100 == 2 {
			return s.odd(host, answer.StatusCode, "it is HTTP %d", answer.StatusCode)
		}
		return s.refused(host, answer.RawResponse, answer.ErrorCode, "")
	}
	return s.unanswered(host, err)
}
