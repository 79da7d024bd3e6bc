package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// hunter is a secret of the right length that no message may tell.
var hunter = strings.Repeat("hunter2!", 4)

// readIn is read in a job of a workflow, with or without the artifact service,
// or elsewhere.
func readIn(in map[string]string, workflow, artifacts bool) (Config, error) {
	return Read(Source{
		Lookup:   func(name string) (string, bool) { v, ok := in[name]; return v, ok },
		Getenv:   func(string) string { return "" },
		Workflow: workflow, Artifacts: artifacts,
	})
}

func TestReadCheckpoints(t *testing.T) {
	t.Parallel()
	const days = 24 * time.Hour
	for name, c := range map[string]struct {
		in                  []string
		workflow, artifacts bool
		want                Checkpoints
	}{
		"nothing said, on GitHub":          {nil, true, true, Checkpoints{Stores: []string{"artifact"}, Auto: true, Retention: 90 * days}},
		"nothing said, on a server of one": {nil, true, false, Checkpoints{Stores: []string{"cluster"}, Auto: true, Retention: 90 * days}},
		"nothing said, elsewhere":          {nil, false, false, Checkpoints{Stores: []string{"cluster"}, Auto: true, Retention: 90 * days}},
		"what action.yml hands over": {[]string{"checkpoint-stores", "auto", "checkpoint-retention", "90d", "checkpoint-cleanup", "false", "github-token", "ghs_x"}, true, true,
			Checkpoints{Stores: []string{"artifact"}, Auto: true, Retention: 90 * days, GitHubToken: "ghs_x"}},
		"none": {[]string{"checkpoint-stores", "none"}, false, false, Checkpoints{Retention: 90 * days}},
		"all, in any order, with any blanks": {[]string{"checkpoint-stores", " cache,artifact ,\n cluster,", "checkpoint-key", hunter}, true, true,
			Checkpoints{Stores: []string{"artifact", "cluster", "cache"}, Key: hunter, Retention: 90 * days}},
		// Another implementation of the service may be behind another server's name.
		"an artifact where nobody would choose it": {[]string{"checkpoint-stores", "artifact"}, true, false,
			Checkpoints{Stores: []string{"artifact"}, Retention: 90 * days}},
		"cache with a key": {[]string{"checkpoint-stores", "cache", "checkpoint-key", hunter + "\n"}, true, true,
			Checkpoints{Stores: []string{"cache"}, Key: hunter, Retention: 90 * days}},
		"cache beside the cluster": {[]string{"checkpoint-stores", "cluster cache", "checkpoint-key", hunter}, true, true,
			Checkpoints{Stores: []string{"cluster", "cache"}, Key: hunter, Retention: 90 * days}},
		"a retention of days":  {[]string{"checkpoint-stores", "cluster", "checkpoint-retention", "3650d"}, false, false, Checkpoints{Stores: []string{"cluster"}, Retention: 3650 * days}},
		"a retention of hours": {[]string{"checkpoint-stores", "cluster", "checkpoint-retention", "36h"}, false, false, Checkpoints{Stores: []string{"cluster"}, Retention: 36 * time.Hour}},
		"the least retention":  {[]string{"checkpoint-stores", "cluster", "checkpoint-retention", "1d"}, false, false, Checkpoints{Stores: []string{"cluster"}, Retention: days}},
		"what has no use here, where nobody chose": {[]string{"checkpoint-retention", "7d", "checkpoint-cleanup", "true", "checkpoint-key", hunter}, true, true,
			Checkpoints{Stores: []string{"artifact"}, Auto: true, Key: hunter, Retention: 7 * days, Cleanup: true}},
		"cleanup": {[]string{"checkpoint-stores", "artifact,cluster", "checkpoint-cleanup", "true"}, true, true,
			Checkpoints{Stores: []string{"artifact", "cluster"}, Retention: 90 * days, Cleanup: true}},
		// A runner hands over an empty input in place of its default when a workflow
		// says so, and a job that may not read anything has such a token.
		"no token": {[]string{"github-token", " "}, true, true, Checkpoints{Stores: []string{"artifact"}, Auto: true, Retention: 90 * days}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have, err := readIn(with(good(), c.in...), c.workflow, c.artifacts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, have.Checkpoints); diff != "" {
				t.Errorf("(-want +have)\n%s", diff)
			}
		})
	}
}

func TestReadRefusesCheckpoints(t *testing.T) {
	t.Parallel()
	const (
		words      = "want some of artifact, cluster and cache, or none or auto alone"
		unreplaced = "is the name of a value and not the value: an expression or variable that nothing has replaced"
		keyless    = "checkpoint-stores: names cache, and no checkpoint-key is given: anyone who can run a workflow on the branch can write any cache key, so no record there is to be trusted unless it is signed. " +
			"Give checkpoint-key, a secret of at least 32 bytes, or "
		alone  = keyless + "take artifact or cluster in its place. " + emptyInput
		beside = keyless + "leave cache out. " + emptyInput
	)
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"a word near one":                        {[]string{"checkpoint-stores", "artifacts"}, `checkpoint-stores: names "artifacts"; ` + words + "; did you mean artifact?"},
		"a word in capitals":                     {[]string{"checkpoint-stores", "Cluster"}, `checkpoint-stores: names "Cluster"; ` + words + "; did you mean cluster?"},
		"what a store is made of":                {[]string{"checkpoint-stores", "artifact,configmap"}, `checkpoint-stores: names "configmap"; ` + words + "; did you mean cluster?"},
		"what is there anyway":                   {[]string{"checkpoint-stores", "work-dir"}, `checkpoint-stores: names "work-dir"; ` + words + "; did you mean none?"},
		"a word like no other":                   {[]string{"checkpoint-stores", "redis"}, `checkpoint-stores: names "redis"; ` + words},
		"a secret that went astray":              {[]string{"checkpoint-stores", hunter}, "checkpoint-stores: names a value of 32 bytes; " + words},
		"a store twice":                          {[]string{"checkpoint-stores", "cluster, cluster"}, "checkpoint-stores: names cluster twice"},
		"none beside others":                     {[]string{"checkpoint-stores", "none,cluster"}, "checkpoint-stores: names none beside others; it stands alone"},
		"auto beside others":                     {[]string{"checkpoint-stores", "cluster auto"}, "checkpoint-stores: names auto beside others; it stands alone"},
		"commas alone":                           {[]string{"checkpoint-stores", ", ,"}, "checkpoint-stores: names no store; the word for that is none"},
		"cache alone":                            {[]string{"checkpoint-stores", "cache"}, alone},
		"cache beside artifacts, no key":         {[]string{"checkpoint-stores", "artifact,cache"}, beside},
		"cache beside the cluster, no key":       {[]string{"checkpoint-stores", "cluster,cache"}, beside},
		"cache beside all, a key of blanks":      {[]string{"checkpoint-stores", "artifact,cluster,cache", "checkpoint-key", " "}, beside},
		"cache alone, an empty key":              {[]string{"checkpoint-stores", "cache", "checkpoint-key", "\n"}, alone},
		"cache alone, a short key":               {[]string{"checkpoint-stores", "cache", "checkpoint-key", hunter[:31]}, "checkpoint-key: has 31 bytes, at least 32 are needed"},
		"a key of two lines":                     {[]string{"checkpoint-key", hunter + "\n" + hunter}, "checkpoint-key: holds line ends; want one line, have 65 bytes"},
		"a key that is an expression":            {[]string{"checkpoint-key", "${{ secrets.CHECKPOINT_KEY_hunter2 }}"}, "checkpoint-key: " + unreplaced},
		"a key that is a variable of a pipeline": {[]string{"checkpoint-key", "$(TheCheckpointKeyOfThisPipeline_hunter2)"}, "checkpoint-key: " + unreplaced},
		"a key that is a variable of a shell":    {[]string{"checkpoint-key", "${THE_CHECKPOINT_KEY_OF_THIS_SHELL_hunter2}"}, "checkpoint-key: " + unreplaced},
		"a key without any store":                {[]string{"checkpoint-stores", "none", "checkpoint-key", hunter}, "checkpoint-key: is given, but checkpoint-stores is none; only artifact, cluster and cache have a use for it"},
		"a token that is an expression":          {[]string{"github-token", "x ${{ github.token_hunter2 }}"}, "github-token: " + unreplaced},
		"a token of two lines":                   {[]string{"github-token", "hunter2\r\nhunter2"}, "github-token: holds line ends; want one line, have 16 bytes"},
		"a token with a blank":                   {[]string{"github-token", "Bearer hunter2"}, "github-token: has a character that no token has, byte 7"},
		"a retention of a number":                {[]string{"checkpoint-retention", "90"}, `checkpoint-retention: is "90"; want days such as 90d, or hours such as 36h`},
		"a retention of nothing":                 {[]string{"checkpoint-retention", "0"}, `checkpoint-retention: is "0"; want days such as 90d, or hours such as 36h`},
		"a retention of a word":                  {[]string{"checkpoint-retention", "forever"}, `checkpoint-retention: is "forever"; want days such as 90d, or hours such as 36h`},
		"a retention of a unit":                  {[]string{"checkpoint-retention", "d"}, `checkpoint-retention: is "d"; want days such as 90d, or hours such as 36h`},
		"a retention below nothing":              {[]string{"checkpoint-retention", "-5d"}, `checkpoint-retention: is "-5d"; want days such as 90d, or hours such as 36h`},
		"a retention of less than a run":         {[]string{"checkpoint-retention", "12h"}, `checkpoint-retention: is "12h"; want from 1d to 3650d`},
		"a retention of no days":                 {[]string{"checkpoint-retention", "0d"}, `checkpoint-retention: is "0d"; want from 1d to 3650d`},
		"a retention of decades":                 {[]string{"checkpoint-retention", "3651d"}, `checkpoint-retention: is "3651d"; want from 1d to 3650d`},
		"a retention past any number":            {[]string{"checkpoint-retention", "99999999999999999999d"}, `checkpoint-retention: is "99999999999999999999d"; want days such as 90d, or hours such as 36h`},
		"a retention without the cluster":        {[]string{"checkpoint-stores", "artifact", "checkpoint-retention", "30d"}, "checkpoint-retention: is given, but checkpoint-stores is artifact; only cluster has a use for it"},
		"cleanup that is neither":                {[]string{"checkpoint-cleanup", "yes"}, `checkpoint-cleanup: is "yes"; want true, false or nothing`},
		"cleanup without artifacts":              {[]string{"checkpoint-stores", "cache cluster", "checkpoint-key", hunter, "checkpoint-cleanup", "true"}, "checkpoint-cleanup: is given, but checkpoint-stores is cluster and cache; only artifact has a use for it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have, err := readIn(with(good(), c.in...), true, true)
			if err == nil {
				t.Fatal("was accepted")
			}
			if diff := cmp.Diff("config-invalid: "+c.want, err.Error()); diff != "" {
				t.Errorf("(-want +have)\n%s", diff)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the message tells a secret")
			}
			// What was refused still has to be hidden from whatever else is told.
			for i := 0; i < len(c.in); i += 2 {
				value := strings.TrimSpace(c.in[i+1])
				if c.in[i] == "checkpoint-key" && have.Checkpoints.Key != value || c.in[i] == "github-token" && have.Checkpoints.GitHubToken != value {
					t.Errorf("%s is not handed on", c.in[i])
				}
			}
		})
	}
}

func TestReadRefusesAWorkflowsStoresElsewhere(t *testing.T) {
	t.Parallel()
	_, err := readIn(with(good(), "checkpoint-stores", "artifact,cluster,cache"), false, false)
	if err == nil {
		t.Fatal("was accepted")
	}
	const fault = "\ncheckpoint-stores: names %, which is a service for the jobs of a GitHub workflow, and this is none. Give cluster, which works anywhere"
	want := "config-invalid: 2 things are wrong with the inputs:" + strings.ReplaceAll(fault, "%", "artifact") + strings.ReplaceAll(fault, "%", "cache")
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +have)\n%s", diff)
	}
}

// A record that is removed while its Job may still be there would have a run
// take the Job for nobody's: what is kept shortest is kept longer.
func TestRetentionOutlivesEveryRunAndItsJob(t *testing.T) {
	t.Parallel()
	const ttl = time.Hour // ttlSecondsAfterFinished 3600, which the contract's records state
	longest := (1+oneshot.MaxSuccessors)*maxTimeout + ttl
	if shortest := minRetention * day; shortest <= longest {
		t.Errorf("records may be kept for %s, a run and its Job for %s", shortest, longest)
	}
}

func FuzzCheckpoints(f *testing.F) {
	for _, s := range [][4]string{
		{"artifact,cluster", hunter, "90d", "ghs_x"}, {"none", "", "36h", ""}, {"auto cache", "$(x)", "1h1d", "\x00"}, {"CACHE", "\r", "-0d", "${{"},
	} {
		f.Add(s[0], s[1], s[2], s[3], true)
	}
	f.Fuzz(func(t *testing.T, stores, key, retention, token string, workflow bool) {
		in := map[string]string{checkpointStores: stores, checkpointKey: key, checkpointRetention: retention, githubToken: token, checkpointCleanup: "false"}
		for _, name := range []string{checkpointStores, checkpointRetention} {
			if strings.TrimSpace(in[name]) == "" {
				declared, _ := find(name)
				in[name] = declared.Default
			}
		}
		p := &problems{}
		c := readCheckpoints(p, in, Source{Workflow: workflow})
		if key := strings.TrimSpace(key); c.Key != key {
			t.Error("the key is not handed on")
		}
		if p.err() != nil {
			return
		}
		order := []string{StoreArtifact, StoreCluster, StoreCache}
		for i, store := range c.Stores {
			if n := slices.Index(order, store); n < 0 || i > 0 && n <= slices.Index(order, c.Stores[i-1]) {
				t.Errorf("accepted stores %v", c.Stores)
			}
			if store != StoreCluster && !workflow {
				t.Errorf("accepted %s outside of a workflow", store)
			}
		}
		if c.Has(StoreCache) && len(c.Key) < 32 {
			t.Errorf("accepted %v with a key of %d bytes", c.Stores, len(c.Key))
		}
		if c.Retention < day || c.Retention > 3650*day {
			t.Errorf("accepted a retention of %s", c.Retention)
		}
		if strings.ContainsAny(c.Key+c.GitHubToken, "\r\n") {
			t.Error("accepted a secret with line ends")
		}
	})
}
