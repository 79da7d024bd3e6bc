package azure

import (
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// retries are those of the SDK: a pause that a server asks for is kept when it is
// not too long to wait for.
var retries = policy.RetryOptions{
	MaxRetries:    3,
	RetryDelay:    500 * time.Millisecond,
	MaxRetryDelay: 30 * time.Second,
	TryTimeout:    30 * time.Second,
}

// clientOptions are those of everything that the SDK sends.
func clientOptions(o Options, mask func(string)) policy.ClientOptions {
	return policy.ClientOptions{
		Cloud:     o.Cloud.configuration(),
		Retry:     retries,
		Telemetry: policy.TelemetryOptions{ApplicationID: "aks-oneshot/" + o.Version},
		Transport: &observer{next: network.NewClient(network.ClientOptions{Local: o.Auth == ManagedIdentity}), mask: mask},
	}
}

// mask has a credential hidden, before it is first used.
func (l *login) mask(secret string) {
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
