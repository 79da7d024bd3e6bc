package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// The stores of records beside the work folder, the words of the input
// checkpoint-stores, in the order in which they are listed.
const (
	StoreArtifact = "artifact"
	StoreCluster  = "cluster"
	StoreCache    = "cache"
)

var stores = []string{StoreArtifact, StoreCluster, StoreCache}

// The words of checkpoint-stores that stand on their own.
const (
	autoStores = "auto"
	noStores   = "none"
)

// Checkpoints says where records are kept beside the work folder.
type Checkpoints struct {
	// Stores are some of the Store constants in their order, none twice; empty
	// where the work folder alone is wanted.
	Stores []string
	// Auto says that nobody chose them: they follow from where we run.
	Auto bool
	// Key signs the records there, "" for none. It and GitHubToken are secrets and
	// there to be hidden also when something is wrong with them.
	Key string
	// Retention is how long the cluster keeps a record, from 1 to 3650 days. That
	// is longer than any run and the TTL of its Job together.
	Retention time.Duration
	// Cleanup has older artifacts removed once the last one is stored.
	Cleanup bool
	// GitHubToken asks GitHub for the artifacts of earlier attempts, "" for none.
	GitHubToken string
}

// Has reports whether a store is one of them.
func (c Checkpoints) Has(store string) bool { return slices.Contains(c.Stores, store) }

// readCheckpoints returns where records are kept.
func readCheckpoints(p *problems, v values, src Source) Checkpoints {
	c := Checkpoints{
		Auto:        v.text(checkpointStores) == autoStores,
		Key:         v.text(checkpointKey),
		GitHubToken: v.text(githubToken),
		Retention:   parsed(p, v, checkpointRetention, parseRetention),
	}
	if yes := readBool(p, v, checkpointCleanup); yes != nil {
		c.Cleanup = *yes
	}
	parsed(p, v, checkpointKey, parseKey)
	parsed(p, v, githubToken, parseToken)
	switch {
	case !c.Auto:
		c.Stores = parsed(p, v, checkpointStores, parseStores)
	case src.Artifacts:
		c.Stores = []string{StoreArtifact}
	default:
		c.Stores = []string{StoreCluster}
	}
	if !c.Auto && !p.with(checkpointStores) {
		checkStores(p, v, src, c)
	}
	return c
}

// checkStores makes sure that the stores that somebody chose are to be had here
// and can be trusted, and that no input is given that only another store has a
// use for. Where nobody chose, such an input may be for another place.
func checkStores(p *problems, v values, src Source, c Checkpoints) {
	for _, store := range []string{StoreArtifact, StoreCache} {
		if c.Has(store) && !src.Workflow {
			p.add(checkpointStores, "names %s, which is a service for the jobs of a GitHub workflow, and this is none", store).
				Fix = "Give " + StoreCluster + ", which works anywhere"
		}
	}
	// Beside other stores too: what one store has and another lacks is taken, and
	// stored there as well.
	if src.Workflow && c.Has(StoreCache) && !v.given(checkpointKey) && !p.with(checkpointKey) {
		instead := fmt.Sprintf("take %s or %s in its place", StoreArtifact, StoreCluster)
		if len(c.Stores) > 1 {
			instead = "leave " + StoreCache + " out"
		}
		p.add(checkpointStores, "names %s, and no %s is given: anyone who can run a workflow on the branch can write any cache key, so no record there is to be trusted unless it is signed", StoreCache, checkpointKey).
			Fix = fmt.Sprintf("Give %s, a secret of at least %d bytes, or %s. %s", checkpointKey, checkpoint.MinKeyLength, instead, emptyInput)
	}
	chosen := list("and", c.Stores)
	if len(c.Stores) == 0 {
		chosen = noStores
	}
	byDefault, _ := find(checkpointRetention)
	for _, in := range []struct {
		name  string
		given bool
		used  bool
		only  string
	}{
		{checkpointKey, v.given(checkpointKey), len(c.Stores) > 0, list("and", stores) + " have"},
		{checkpointRetention, v.text(checkpointRetention) != byDefault.Default, c.Has(StoreCluster), StoreCluster + " has"},
		{checkpointCleanup, c.Cleanup, c.Has(StoreArtifact), StoreArtifact + " has"},
	} {
		if in.given && !in.used && !p.with(in.name) {
			p.add(in.name, "is given, but %s is %s; only %s a use for it", checkpointStores, chosen, in.only)
		}
	}
}

// otherWords are what people call a store, or having none, elsewhere.
var otherWords = map[string]string{
	"configmap": StoreCluster, "configmaps": StoreCluster, "kubernetes": StoreCluster, "aks": StoreCluster,
	"github": StoreArtifact, "work-dir": noStores, "folder": noStores, "local": noStores, "off": noStores, "false": noStores,
}

// parseStores returns the stores that a list names, in their own order. A word
// that is none may be a secret that went astray, and is told only when it is
// plainly a word.
func parseStores(s string) ([]string, error) {
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	all := append(slices.Clone(stores), noStores, autoStores)
	for i, word := range words {
		switch {
		case !slices.Contains(all, word):
			meant := cmp.Or(otherWords[strings.ToLower(word)], nearest(strings.ToLower(word), all))
			if meant != "" {
				meant = "; did you mean " + meant + "?"
			}
			return nil, fmt.Errorf("names %s; want some of %s, or %s or %s alone%s",
				plainly(word), list("and", stores), noStores, autoStores, meant)
		case slices.Contains(words[:i], word):
			return nil, fmt.Errorf("names %s twice", word)
		}
	}
	for _, alone := range []string{noStores, autoStores} {
		if slices.Contains(words, alone) && len(words) > 1 {
			return nil, fmt.Errorf("names %s beside others; it stands alone", alone)
		}
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("names no store; the word for that is %s", noStores)
	}
	slices.SortFunc(words, func(a, b string) int { return slices.Index(all, a) - slices.Index(all, b) })
	if words[0] == noStores {
		return nil, nil
	}
	return words, nil
}
