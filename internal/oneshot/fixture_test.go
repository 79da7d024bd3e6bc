package oneshot

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// fixture reads one object of testdata, once.
func fixture(name string) func() contract.Object {
	read := sync.OnceValue(func() contract.Object {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			panic(err)
		}
		object, err := contract.ParseObject(data)
		if err != nil {
			panic(err)
		}
		return object
	})
	return func() contract.Object { return clone(read()) }
}

var (
	testCronJob        = fixture("cronjob.json")
	testServiceAccount = fixture("serviceaccount.json")
	testContext        = fixture("context.json")
)

// testPlan is a run of the template in testdata.
func testPlan() Plan {
	label := func(s string) contract.Label { return must(contract.ParseLabel(s)) }
	q := contract.Request{
		Namespace: label("fdai-runtime"), Template: label("inventory"), Purpose: label("inventory"),
		ServiceAccount: label("inventory-job"), Container: label("inventory"),
		Image:       must(contract.ParseImage("example.azurecr.io/app@sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc")),
		Command:     []string{"python", "-m", "example.sync"},
		Args:        []string{"--initial"},
		Environment: map[string]string{"PROGRESS_RUN_ID": "first"},
	}
	q.Pins = must(must(contract.ReadContext(testContext())).Pins(q.Template, q.Namespace, q.ServiceAccount))
	return Plan{Request: q, Timeout: 30 * time.Second}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
