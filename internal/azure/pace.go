package azure

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// pace is how long things may take; tests have less time.
type pace struct {
	// limit is [Limit]; where there is an over, it is when that is closed.
	limit time.Duration
	over  <-chan struct{}
	// retries are those of a request that a network or a busy server spoils: a
	// pause that a server asks for is kept when it is not too long to wait for.
	// The SDK repeats what is asked of Azure Resource Manager, all of whose tries
	// end within a minute and three quarters, and [Limit] before that.
	retries policy.RetryOptions
	// again is for how long a token is asked for again, counted from the first
	// try: none begins later.
	again time.Duration
	// unknownYet are the pauses after Entra said that it does not know a
	// federated credential: one that was just made takes a while to be known
	// everywhere.
	unknownYet []time.Duration
	// patience is how long the cluster's properties are waited for once its
	// credential is there, or is known not to be had: they only explain.
	patience time.Duration
	// az is how long az may take: it is started for each token, and may wait for
	// somebody at the terminal.
	az time.Duration
}

var usual = pace{
	limit: Limit,
	retries: policy.RetryOptions{
		MaxRetries:    3,
		RetryDelay:    500 * time.Millisecond,
		MaxRetryDelay: 15 * time.Second,
		TryTimeout:    15 * time.Second,
	},
	again:      45 * time.Second,
	unknownYet: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second},
	patience:   10 * time.Second,
	az:         30 * time.Second,
}

// limited returns a context that ends when there is no time left to connect.
func (p *pace) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.over == nil {
		return context.WithTimeoutCause(ctx, p.limit, errLimit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-p.over:
			cancel(errLimit)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// once are the retries for what the SDK is not to repeat.
func (p *pace) once() policy.RetryOptions {
	r := p.retries
	r.MaxRetries = -1
	return r
}

// pause returns the pause before the next try for a token, when there is one
// after so many retries and so much time. asked is the pause that the server asks
// for, 0 when it does not. Pauses of one's own double, as the SDK's do.
func (p *pace) pause(retries int, since, asked time.Duration) (time.Duration, bool) {
	pause := asked
	if pause == 0 {
		pause = min(p.retries.RetryDelay<<retries, p.retries.MaxRetryDelay)
		pause = time.Duration(float64(pause) * (0.8 + rand.Float64()/2)) //nolint:gosec // It spreads requests, no more.
	} else if pause > p.retries.MaxRetryDelay {
		return 0, false
	}
	return pause, retries < int(p.retries.MaxRetries) && since+pause < p.again
}
