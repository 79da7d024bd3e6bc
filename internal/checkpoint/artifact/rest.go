package artifact

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v88/github"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

const (
	perPage = 100
	// maxPages bounds a list: 50 attempts of a run with 20 full jobs each.
	maxPages = 5000
	// pagesAtOnce is how many are asked for at a time.
	pagesAtOnce = 8
	// maxRedirects is how many are followed, all within the API.
	maxRedirects = 3
	// maxPage bounds a page, in bytes.
	maxPage = 4 << 20
)

// rest asks the REST API, which shows the artifacts of every attempt.
// https://docs.github.com/rest/actions/artifacts
type rest struct {
	service service
	actions *github.ActionsService
	host    string
	owner   string
	repo    string
	run     int64
	pace    pace
}

// newREST returns nil when there is no token.
func newREST(o Options, client doer, masks *secret.Masked, p pace) (*rest, error) {
	if o.Token == "" {
		return nil, nil //nolint:nilnil // the absence is a case of its own
	}
	owner, repo, ok := strings.Cut(o.Repository, "/")
	if !ok || owner == "" || repo == "" {
		return nil, storeFailed("the REST API cannot be asked: GITHUB_REPOSITORY is not of the form OWNER/NAME").WithFix(fixRunner)
	}
	base, err := url.Parse(strings.TrimRight(o.APIURL, "/") + "/")
	if err != nil || base.Host == "" || base.User != nil {
		return nil, storeFailed("the REST API cannot be asked: GITHUB_API_URL is not an https URL").WithFix(fixRunner)
	}
	address := base.String()
	c, err := github.NewClient(
		github.WithHTTPClient(&http.Client{
			Transport: &authorized{client, base, o.Token},
			CheckRedirect: func(req *http.Request, via []*http.Request) error {
				// A repository that was renamed is elsewhere in the same API. Any other
				// redirect is an answer: the token is for nobody else.
				if !sameOrigin(req.URL, base) || len(via) > maxRedirects {
					return http.ErrUseLastResponse
				}
				return nil
			},
		}),
		github.WithURLs(&address, nil),
		github.WithUserAgent(agent(o)),
		// It would refuse to ask before the time that an answer named, which is for
		// [pace] to decide.
		github.WithDisableRateLimitCheck(),
	)
	if err != nil {
		return nil, storeFailed("the REST API cannot be asked: GITHUB_API_URL cannot be used").WithFix(fixRunner)
	}
	return &rest{service{restName, masks}, c.Actions, base.Host, owner, repo, o.RunID, p}, nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// authorized gives the token to the API and to nobody else.
type authorized struct {
	client doer
	base   *url.URL
	token  string
}

// RoundTrip implements [http.RoundTripper].
func (a *authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	if sameOrigin(req.URL, a.base) {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &limited{io.LimitReader(resp.Body, maxPage), resp.Body}
	return resp, nil
}

type limited struct {
	io.Reader
	io.Closer
}

// page is one of a list.
type page struct {
	total int
	more  bool // says that another one follows
	ids   []int64
	rows  []row
}

// list returns the artifacts of the run whose names are ours. It reads the whole
// list, since the execution is not known yet when it begins, and begins again when
// the list changed meanwhile: what moves to another page may be missed. Of a list that
// stays shorter than it says, the rows are returned beside the error.
func (r *rest) list(ctx context.Context) ([]row, error) {
	var before int
	for range 5 {
		rows, ids, total, err := r.pages(ctx)
		if err != nil {
			return nil, err
		}
		if ids >= total {
			return rows, nil
		}
		if ids == before { // It is not changing.
			return rows, storeFailed(listingArtifacts+": there are %d in the list, and it says that there are %d", ids, total).WithFix(fixStatus)
		}
		before = ids
	}
	return nil, storeFailed(listingArtifacts + ": the list changed all the time while it was read").
		WithFix("Run again when fewer jobs of this run store artifacts")
}

// pages reads all pages of the list once, and returns how many different artifacts
// there were and how many there should be.
func (r *rest) pages(ctx context.Context) (rows []row, ids, total int, err error) {
	first, err := r.page(ctx, 1)
	if err != nil {
		return nil, 0, 0, err
	}
	count := (first.total + perPage - 1) / perPage
	if count > maxPages {
		return nil, 0, 0, tooMany(first.total)
	}
	all := make([]page, max(count, 1))
	all[0] = first
	outer := ctx
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	var wg sync.WaitGroup
	slots := make(chan struct{}, pagesAtOnce)
	for n := 2; n <= count; n++ {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			err := checkpoint.Guard(listingArtifacts, func() (err error) {
				all[n-1], err = r.page(ctx, n)
				return err
			})
			if err != nil {
				cancel(err) // The first one counts; the others end.
			}
		})
	}
	wg.Wait()
	// A count that is too low must not hide what comes after it.
	var after []page
	for last := all[len(all)-1]; ctx.Err() == nil && last.more; after = append(after, last) {
		n := len(all) + len(after) + 1
		if last, err = r.page(ctx, n); err == nil && n > maxPages {
			err = tooMany(perPage * maxPages)
		}
		if err != nil {
			cancel(err)
		}
	}
	if err := context.Cause(outer); err != nil {
		return nil, 0, 0, ended(listingArtifacts, err)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, 0, 0, err
	}
	seen := map[int64]bool{}
	for _, p := range slices.Concat(all, after) {
		total = max(total, p.total)
		for _, id := range p.ids {
			seen[id] = true
		}
		rows = append(rows, p.rows...)
	}
	return rows, len(seen), total, nil
}

func tooMany(count int) error {
	return storeFailed(listingArtifacts+": there are %d, which is more than can be looked through", count).
		WithFix("Use checkpoint-stores: cluster")
}

func (r *rest) page(ctx context.Context, n int) (page, error) {
	var p page
	err := r.pace.do(ctx, listingArtifacts, func(ctx context.Context) *trouble {
		list, resp, err := r.actions.ListWorkflowRunArtifacts(ctx, r.owner, r.repo, r.run, &github.ListOptions{Page: n, PerPage: perPage})
		if err != nil {
			return r.trouble(resp, err)
		}
		if list == nil || list.TotalCount == nil {
			return r.service.odd(r.host, resp.StatusCode, "it is not the JSON that was expected")
		}
		p = page{total: int(list.GetTotalCount()), more: resp.NextPage > n}
		for _, a := range list.Artifacts {
			p.ids = append(p.ids, a.GetID())
			if name, ok := parseName(a.GetName()); ok {
				p.rows = append(p.rows, row{name: name, id: a.GetID(), size: a.GetSizeInBytes(), digest: a.GetDigest(), expired: a.GetExpired(), rest: true})
			}
		}
		return nil
	})
	return p, err
}

// locate returns where the content of an artifact is.
func (r *rest) locate(ctx context.Context, of row) (string, error) {
	var address string
	err := r.pace.do(ctx, "locating the artifact "+of.name.String(), func(ctx context.Context) *trouble {
		u, resp, err := r.actions.DownloadArtifact(ctx, r.owner, r.repo, of.id, maxRedirects)
		if err != nil {
			return r.trouble(resp, err)
		}
		if u.Host == "" {
			return r.service.odd(r.host, resp.StatusCode, "it has no address")
		}
		address = u.String()
		r.service.secrets.AddSigned(address)
		return nil
	})
	return address, err
}

func (r *rest) remove(ctx context.Context, of row) error {
	return r.pace.do(ctx, "deleting the artifact "+of.name.String(), func(ctx context.Context) *trouble {
		if resp, err := r.actions.DeleteArtifact(ctx, r.owner, r.repo, of.id); err != nil {
			return r.trouble(resp, err)
		}
		return nil
	})
}

// trouble tells what an error of the library means.
func (r *rest) trouble(resp *github.Response, err error) *trouble {
	if resp == nil || resp.Response == nil {
		return r.service.unanswered(r.host, err)
	}
	if resp.StatusCode/100 == 2 {
		if network.CauseOf(err).Kind != network.Unknown {
			return r.service.unanswered(r.host, err) // It was cut off.
		}
		return r.service.odd(r.host, resp.StatusCode, "it is not the JSON that was expected")
	}
	var said string
	if e, ok := errors.AsType[*github.ErrorResponse](err); ok {
		said = e.Message
	}
	t := r.service.refused(r.host, resp.Response, "", said)
	if e, ok := errors.AsType[*github.RateLimitError](err); ok {
		t.said, t.limited = r.service.clean(e.Message), true
		if wait := time.Until(e.Rate.Reset.Time); t.after == 0 && wait > 0 && wait <= r.pace.most {
			t.after = wait
		}
	}
	if e, ok := errors.AsType[*github.AbuseRateLimitError](err); ok {
		t.said, t.limited = r.service.clean(e.Message), true
	}
	t.limited = t.limited || t.after > 0 && (t.status == http.StatusForbidden || t.status == http.StatusTooManyRequests)
	return t
}
