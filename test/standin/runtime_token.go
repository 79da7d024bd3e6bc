package standin

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// runtimeClaims are what is looked at in a runtime token.
type runtimeClaims struct {
	jwt.RegisteredClaims
	Scopes string `json:"scp"`
	// Access says what may be done in which scope of the cache, as JSON in a text.
	Access string `json:"ac"`
	Run    string `json:"run_id"`
	Number string `json:"run_attempt"`
}

// cacheScope is one of the cache's scopes in a token.
type cacheScope struct {
	Scope      string
	Permission int // 1 is read, 2 is write
}

const (
	cacheRead  = 1
	cacheWrite = 2
)

// permission is what an access comes to for the job's own scope.
func (a CacheAccess) permission() int {
	return map[CacheAccess]int{CacheWrite: cacheRead | cacheWrite, CacheReadOnly: cacheRead, CacheWriteOnly: cacheWrite}[a]
}

// runtimeToken signs a token for as long as a job may run.
func (s *Stores) runtimeToken(a Attempt) string {
	scopes := []cacheScope{}
	if p := s.options.Cache.permission(); p != 0 {
		scopes = append(scopes, cacheScope{s.options.Ref, p})
		if p&cacheRead != 0 && s.options.Ref != s.options.DefaultBranch {
			scopes = append(scopes, cacheScope{s.options.DefaultBranch, cacheRead})
		}
	}
	access, err := json.Marshal(scopes)
	if err != nil {
		panic(err) // Only texts and numbers are in it.
	}
	now := time.Now()
	token, err := s.signer.sign(jwt.MapClaims{
		"iss": "https://token.actions.githubusercontent.com", "aud": "https://github.com", "jti": uuid.NewString(), "sub": uuid.NewString(),
		"iat": now.Unix(), "nbf": now.Add(min(0, s.options.TokenLifetime) - 5*time.Minute).Unix(), "exp": now.Add(s.options.TokenLifetime).Unix(),
		"scp": "Actions.GenericRead:" + a.RunBackendID + ":" + a.JobBackendID + " Actions.Results:" + a.RunBackendID + ":" + a.JobBackendID +
			" Actions.Runner Actions.UploadArtifacts:" + a.RunBackendID + ":" + a.JobBackendID,
		"ac": string(access), "acsl": "10", "orch_id": a.RunBackendID + "." + a.JobBackendID, "oidc_sub": "repo:" + s.options.Owner + "/" + s.options.Repository,
		"run_id": strconv.FormatInt(a.RunID, 10), "run_attempt": strconv.Itoa(a.Number), "repository_id": "517421",
	})
	if err != nil {
		panic(err) // It is signed with a key of our own.
	}
	s.ledger.AddToken("a runtime token", token)
	return token
}

// caller is whose runtime token a request has.
type caller struct {
	run                    int64
	number                 int
	runBackend, jobBackend string
	scopes                 []cacheScope
}

var errRuntimeToken = errors.New("the runtime token is not one that was issued, has ended, or has no scope for the results service")

// verify checks a runtime token's signature, times and scopes.
func (s *Stores) verify(token string) (caller, error) {
	var claims runtimeClaims
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithExpirationRequired())
	if _, err := parser.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return s.signer.key.Public(), nil }); err != nil {
		return caller{}, errRuntimeToken
	}
	s.mu.Lock()
	ended := s.ended[token]
	s.mu.Unlock()
	c := caller{}
	for item := range strings.SplitSeq(claims.Scopes, " ") {
		if parts := strings.Split(item, ":"); parts[0] == "Actions.Results" && len(parts) == 3 {
			c.runBackend, c.jobBackend = parts[1], parts[2]
		}
	}
	var errRun, errNumber error
	c.run, errRun = strconv.ParseInt(claims.Run, 10, 64)
	c.number, errNumber = strconv.Atoi(claims.Number)
	if ended || c.runBackend == "" || errRun != nil || errNumber != nil || json.Unmarshal([]byte(claims.Access), &c.scopes) != nil {
		return caller{}, errRuntimeToken
	}
	return c, nil
}
