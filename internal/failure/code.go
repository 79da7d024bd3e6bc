package failure

import "slices"

// Code is the stable name of one kind of failure.
type Code string

// The codes, in the order in which a run can meet them.
const (
	ConfigInvalid            Code = "config-invalid"
	ContextIncomplete        Code = "context-incomplete"
	CredentialFailed         Code = "credential-failed"
	ClusterUnreachable       Code = "cluster-unreachable"
	PermissionDenied         Code = "permission-denied"
	TemplateUnavailable      Code = "template-unavailable"
	TemplateDrift            Code = "template-drift"
	SuspensionChanged        Code = "suspension-changed"
	IdentityUnavailable      Code = "identity-unavailable"
	IdentityBindingInvalid   Code = "identity-binding-invalid"
	IdentityDrift            Code = "identity-drift"
	CheckpointDiffers        Code = "checkpoint-differs"
	CheckpointStoreFailed    Code = "checkpoint-store-failed"
	ClockInvalid             Code = "clock-invalid"
	ReadbackFailed           Code = "readback-failed"
	JobWithoutIntent         Code = "job-without-intent"
	JobContractChanged       Code = "job-contract-changed"
	CreateRejected           Code = "create-rejected"
	DispatchAmbiguous        Code = "dispatch-ambiguous"
	TTLWindowElapsed         Code = "ttl-window-elapsed"
	JobVanishedAfterDispatch Code = "job-vanished-after-dispatch"
	JobVanished              Code = "job-vanished"
	StatusInconsistent       Code = "status-inconsistent"
	WorkloadCannotStart      Code = "workload-cannot-start"
	JobFailed                Code = "job-failed"
	DeadlineExceeded         Code = "deadline-exceeded"
	Cancelled                Code = "cancelled"
)

// Meaning tells people what a code stands for and what to do about it. Both stand
// on their own in a table; a report has Do where the failure has no Fix of its own.
type Meaning struct {
	Code  Code
	Means string
	Do    string
}

// Meanings lists every code once, in the order in which a run can meet them.
func Meanings() []Meaning { return slices.Clone(meanings) }

var meanings = []Meaning{
	{ConfigInvalid, "An input is missing, malformed, or contradicts another one, or the CronJob has not the shape that the contract needs.", "Correct the input or field at fault; nothing was changed."},
	{ContextIncomplete, "The context has no pinned digest or identity binding for this template.", "Add the template to the context from the reviewed deployment."},
	{CredentialFailed, "No credential for the cluster could be had: no id token, no token of Entra, or none that Azure Resource Manager accepts.", "Look up what was answered in docs/credentials.md, which has the causes and what to do about each."},
	{ClusterUnreachable, "The API server could not be reached or its certificate could not be verified, or Azure has no such cluster, or not one that runs.", "Check the server's name, the network path to it and the CA that it is verified with; where Azure was asked, look up what it answered in docs/credentials.md."},
	{PermissionDenied, "The API server, Azure Resource Manager or a store of GitHub refused a request by authorization.", "Where the API server refused, grant the verb on the resource: the README has the whole Role. Where Azure did, give the role in Azure that docs/federation.md has. Where a store did, docs/stores.md has what each needs, and what to do about a re-run, which keeps the permissions of its run."},
	{TemplateUnavailable, "The CronJob could not be read.", "Check its name and namespace and that the cluster is the right one."},
	{TemplateDrift, "The live CronJob is not the one that was reviewed.", "Deploy the reviewed CronJob again, or review the change and pin its digest."},
	{SuspensionChanged, "The CronJob is suspended when it should not be, or the other way round.", "Suspend or resume the CronJob, or change require-suspended."},
	{IdentityUnavailable, "The ServiceAccount could not be read.", "Check its name and namespace."},
	{IdentityBindingInvalid, "The pinned identity binding is not consistent in itself or with the context.", "Take the binding from the reviewed deployment again; do not edit it."},
	{IdentityDrift, "The live ServiceAccount is bound to another identity than the reviewed one.", "Restore the workload identity annotations of the ServiceAccount or, if they are right, review the change and pin that identity."},
	{CheckpointDiffers, "A retained record is not the one this execution would have written, is of another cluster, or is not signed with checkpoint-key; or two places have different ones.", "Keep the records as evidence and find out who wrote them; do not delete them to get past this. docs/stores.md says how to look at them, and what to do about several clusters."},
	{CheckpointStoreFailed, "A record could not be read or stored, in the work folder or in one of checkpoint-stores.", "Make the place available and run again; it resumes, within 59 minutes of an intent that another place has taken already. docs/stores.md has what each store needs."},
	{ClockInvalid, "The clock of this machine went back while the run went on, to before the recorded intent.", "Correct the clock and run again."},
	{ReadbackFailed, "Whether the Job exists could not be found out, or so slowly that it may no longer be so.", "Run again when the API server and the stores answer; it resumes."},
	{JobWithoutIntent, "A Job of this execution's name exists, but no record in the work folder or in checkpoint-stores says that it was to be created.", "Find out who created it; resume from the work folder or with the stores that have its records. Where those are lost, do not run again once the Job is gone, which would create another one: docs/stores.md says what to do."},
	{JobContractChanged, "The Job in the cluster is not the one this execution describes.", "Find out who changed it; it is neither adopted nor replaced."},
	{CreateRejected, "The API server refused to create the Job.", "Correct what the API server objects to, and run again."},
	{DispatchAmbiguous, "A create got no answer and no Job is there: it may have run and be gone, or still arrive.", "Look in the cluster's audit log for the create. One that timed out is never repeated; after other answers a re-run repeats it under the same name, inside the TTL window."},
	{TTLWindowElapsed, "An intent is so old that its Job may have run and been removed by its TTL, and no later record was found.", "Find out whether it ran, from the cluster's logs or from records that are elsewhere; the create is not repeated."},
	{JobVanishedAfterDispatch, "The Job was created by an earlier run and is gone, with no record of how it ended.", "Find out from the cluster's logs how it ended; it is not repeated."},
	{JobVanished, "The Job was deleted while it was waited for.", "Find out who deleted it and how far it came; it is not created again."},
	{StatusInconsistent, "The Job's status contradicts itself.", "Look at the Job; no outcome is reported for it."},
	{WorkloadCannotStart, "Reserved, this version never reports it: the Job's pods cannot start.", "Correct what keeps the pods from starting; a re-run resumes waiting."},
	{JobFailed, "The Job failed.", "Read the workload's log and the Job's conditions."},
	{DeadlineExceeded, "The time was up before the Job had ended; a Job that was created goes on.", "Where a Job was created, see why it has not ended: kubectl -n NAMESPACE describe job JOB, and kubectl -n NAMESPACE describe pods -l job-name=JOB (image pull, quota, scheduling). Then run again to resume waiting, or give a longer timeout."},
	{Cancelled, "The run was cancelled; a Job that was created goes on.", "Run again to resume."},
}
