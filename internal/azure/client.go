package azure

import (
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// pace is how long things may take; tests have less time.
type pace struct {
	// limit is [Limit].
	limit time.Duration
	// retries are those of the SDK: a pause that a server asks for is kept when it
	// is not too long to wait for. All tries of a request, pauses included, end
	// within about a minute, so that there is time for what comes after it.
	retries policy.RetryOptions
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
	unknownYet: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second},
	patience:   10 * time.Second,
	az:         30 * time.Second,
}

// clientOptions are those of everything that the SDK sends. The SDK cuts the
// name of the application at 24 characters.
func clientOptions(o Options, mask func(string)) policy.ClientOptions {
	return policy.ClientOptions{
		Cloud:     o.Cloud.configuration(),
		Retry:     o.pace.retries,
		Telemetry: policy.TelemetryOptions{ApplicationID: "aks-oneshot/" + o.Version},
		Transport: newObserver(o, mask),
	}
}

// mask has a credential hidden, before it is first used. Nobody goes on with one
// that somebody else is still masking.
func (l *login) mask(secret string) {
	l.masking.Lock()
	defer l.masking.Unlock()
	if len(l.secrets.Add(secret)) > 0 && l.options.Mask != nil {
		l.options.Mask(secret)
	}
}

// tell tells people something, once.
func (l *login) tell(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.mu.Lock()
	known := l.told[text]
	l.told[text] = true
	l.mu.Unlock()
	if !known && l.options.Notify != nil {
		l.options.Notify(text)
	}
}
