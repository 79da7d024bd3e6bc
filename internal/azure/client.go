package azure

import (
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// retries are those of the SDK: a pause that a server asks for is kept when it is
// not too long to wait for. All tries of a request, pauses included, end within
// about a minute, so that there is time for what comes after it within [Limit].
var retries = policy.RetryOptions{
	MaxRetries:    3,
	RetryDelay:    500 * time.Millisecond,
	MaxRetryDelay: 15 * time.Second,
	TryTimeout:    15 * time.Second,
}

// clientOptions are those of everything that the SDK sends. The SDK cuts the
// name of the application at 24 characters.
func clientOptions(o Options, mask func(string)) policy.ClientOptions {
	return policy.ClientOptions{
		Cloud:     o.Cloud.configuration(),
		Retry:     retries,
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
