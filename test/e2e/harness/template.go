package harness

import "github.com/aks-oneshot/aks-oneshot/test/standin"

// What is the same in every scenario.
const (
	Container      = "work"
	SourceCommit   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	TargetBinding  = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	TenantID       = standin.TenantID
	SubscriptionID = standin.SubscriptionID
	ClientID       = "bbbbbbbb-cccc-dddd-eeee-ffffffffffff"
	IdentityID     = "/subscriptions/" + SubscriptionID + "/resourceGroups/example-rg/providers/" +
		"Microsoft.ManagedIdentity/userAssignedIdentities/runner"
)

// Template is a CronJob to be reviewed, with its ServiceAccount.
type Template struct {
	// Name is a DNS label that no other template of the world has, of at most
	// 40 characters. It is the purpose too.
	Name string
	// BackoffLimit is the Job's, 0 by default.
	BackoffLimit int
	// ActiveDeadline is the Job's, in seconds; 300 by default.
	ActiveDeadline int
	// TTL is how many seconds the Job stays once it is finished; 3600 by
	// default.
	TTL int
	// Suspended is the CronJob's. One that is not has a schedule that is years
	// away.
	Suspended bool
	// Edit changes the CronJob before it is created. It may be nil.
	Edit func(cronJob Object)
}

func labels(name string, more ...string) map[string]any {
	l := map[string]any{
		"app.kubernetes.io/name": name, "app.kubernetes.io/component": name,
		"app.kubernetes.io/managed-by": "terraform", "fdai.io/runtime": "aks",
		"fdai.io/source-commit": SourceCommit,
	}
	for i := 0; i < len(more); i += 2 {
		l[more[i]] = more[i+1]
	}
	return l
}

// cronJob is the CronJob as a deployment would apply it.
func (t Template) cronJob(image string) Object {
	deadline, ttl := t.ActiveDeadline, t.TTL
	if deadline == 0 {
		deadline = 300
	}
	if ttl == 0 {
		ttl = 3600
	}
	pod := map[string]any{
		"serviceAccountName": t.Name + "-job", "automountServiceAccountToken": false, "restartPolicy": "Never",
		"securityContext": map[string]any{"runAsNonRoot": true, "seccompProfile": map[string]any{"type": "RuntimeDefault"}},
		"containers": []any{map[string]any{
			"name": Container, "image": image, "imagePullPolicy": "IfNotPresent",
			"command": []any{Command}, "args": []any{"print", "scheduled"},
			"env": []any{map[string]any{"name": "SOURCES", "value": "arg,arm"}},
			"resources": map[string]any{
				"requests": map[string]any{"cpu": "1m", "memory": "8Mi"}, "limits": map[string]any{"cpu": "1", "memory": "64Mi"},
			},
			"securityContext": map[string]any{
				"allowPrivilegeEscalation": false, "runAsNonRoot": true, "capabilities": map[string]any{"drop": []any{"ALL"}},
			},
		}},
	}
	object := Object{
		"apiVersion": "batch/v1", "kind": "CronJob",
		"metadata": map[string]any{"name": t.Name, "namespace": Namespace, "labels": labels(t.Name)},
		"spec": map[string]any{
			"schedule": "0 0 29 2 *", "timeZone": "Etc/UTC", "concurrencyPolicy": "Forbid", "suspend": t.Suspended,
			"startingDeadlineSeconds": 60, "successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 1,
			"jobTemplate": map[string]any{
				"metadata": map[string]any{"labels": labels(t.Name)},
				"spec": map[string]any{
					"activeDeadlineSeconds": deadline, "backoffLimit": t.BackoffLimit, "ttlSecondsAfterFinished": ttl,
					"completions": 1, "parallelism": 1,
					"template": map[string]any{
						"metadata": map[string]any{"labels": labels(t.Name, "azure.workload.identity/use", "true")},
						"spec":     pod,
					},
				},
			},
		},
	}
	if t.Edit != nil {
		t.Edit(object)
	}
	return object
}

// Command is the program of the workload's image.
const Command = "/workload"

// serviceAccount is the workload's, bound to a managed identity as Azure
// workload identity has it.
func (t Template) serviceAccount() Object {
	return Object{
		"apiVersion": "v1", "kind": "ServiceAccount",
		"metadata": map[string]any{
			"name": t.Name + "-job", "namespace": Namespace,
			"labels":      map[string]any{"azure.workload.identity/use": "true"},
			"annotations": map[string]any{"azure.workload.identity/client-id": ClientID, "azure.workload.identity/tenant-id": TenantID},
		},
	}
}
