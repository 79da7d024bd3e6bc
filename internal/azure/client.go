package azure

import "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

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

// tokenOptions are those for tokens. The SDK repeats a request as it is, and an
// id token is shown once, so [login.ask] repeats them; the endpoint of a machine's
// own identity is shown none, and the SDK knows which of its answers may pass.
func (l *login) tokenOptions() policy.ClientOptions {
	c := l.client
	if !l.sdkRepeats() {
		c.Retry = l.options.pace.once()
	}
	return c
}

// sdkRepeats reports whether the SDK repeats requests for tokens.
func (l *login) sdkRepeats() bool { return l.options.Auth == ManagedIdentity }
