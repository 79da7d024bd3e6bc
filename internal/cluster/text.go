package cluster

const (
	// maxMessage bounds a message of the API server, in characters: a policy's
	// refusal fits, a list of all violations of a large object does not.
	maxMessage = 1024
	// maxForeign bounds a text that is not the API server's.
	maxForeign = 200
)
