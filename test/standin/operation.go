package standin

import (
	"net/http"
	"path"
	"slices"
	"strings"
)

// Operation matches requests by what they ask of GitHub's stores: the methods of
// the results service by their own names, CreateArtifact to
// GetCacheEntryDownloadURL; of the first version of its cache FindCache,
// ReserveCache, UploadCache and CommitCache; of the REST API ListRunArtifacts,
// ListRepositoryArtifacts, GetArtifact, DownloadArtifact and
// DeleteRepositoryArtifact; and of a blob server PutBlob, PutBlock, PutBlockList,
// GetBlob and HeadBlob.
func Operation(names ...string) Match {
	return func(r *http.Request) bool { return Any(r) && slices.Contains(names, operationOf(r)) }
}

// twirp is where the results service has its methods, before the service's name.
const twirp = "/twirp/github.actions.results.api.v1."

// operationOf is the name of what a request asks for, empty for what has none.
func operationOf(r *http.Request) string {
	at := r.URL.Path
	switch {
	case strings.HasPrefix(at, twirp):
		return path.Base(at)
	case strings.Contains(at, cacheV1Path):
		return cacheV1Operation(r.Method, at)
	case strings.HasPrefix(at, "/repos/"):
		return restOperation(r.Method, strings.Split(at, "/"))
	case strings.HasPrefix(at, "/"+blobAccount+"/"):
		return blobOperation(r)
	}
	return ""
}

// cacheV1Path is where the first version of the cache is, below ACTIONS_CACHE_URL.
const cacheV1Path = "/_apis/artifactcache/"

func cacheV1Operation(method, at string) string {
	_, resource, _ := strings.Cut(at, cacheV1Path)
	one := strings.HasPrefix(resource, "caches/")
	switch {
	case method == http.MethodGet && resource == "cache":
		return "FindCache"
	case method == http.MethodPost && resource == "caches":
		return "ReserveCache"
	case method == http.MethodPatch && one:
		return "UploadCache"
	case method == http.MethodPost && one:
		return "CommitCache"
	}
	return ""
}

// restOperation takes the segments of a path: "", "repos", the owner, the
// repository, "actions", and what follows.
func restOperation(method string, segments []string) string {
	if len(segments) < 6 || segments[4] != "actions" {
		return ""
	}
	switch at := segments[5:]; {
	case method == http.MethodGet && len(at) == 3 && at[0] == "runs" && at[2] == "artifacts":
		return "ListRunArtifacts"
	case at[0] != "artifacts":
		return ""
	case method == http.MethodGet && len(at) == 1:
		return "ListRepositoryArtifacts"
	case method == http.MethodGet && len(at) == 2:
		return "GetArtifact"
	case method == http.MethodGet && len(at) == 3 && at[2] == "zip":
		return "DownloadArtifact"
	case method == http.MethodDelete && len(at) == 2:
		return "DeleteRepositoryArtifact"
	}
	return ""
}

func blobOperation(r *http.Request) string {
	switch part := r.URL.Query().Get("comp"); {
	case r.Method == http.MethodPut && part == "":
		return "PutBlob"
	case r.Method == http.MethodPut && part == "block":
		return "PutBlock"
	case r.Method == http.MethodPut && part == "blocklist":
		return "PutBlockList"
	case r.Method == http.MethodGet && part == "":
		return "GetBlob"
	case r.Method == http.MethodHead && part == "":
		return "HeadBlob"
	}
	return ""
}
