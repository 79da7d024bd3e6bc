// Package config turns what a user wrote, in a workflow or on a command line,
// into a checked plan. It is the only place that knows the names of inputs:
// [Inputs] declares each one once, and action.yml, the flags, the help text
// and the README are tested against it.
package config

import (
	"cmp"
	"slices"
)

// Input declares one input.
type Input struct {
	// Name is the input's name in a workflow, and with "--" before it the flag.
	Name string
	// Description is one or two sentences for action.yml, the help text and the
	// README.
	Description string
	// Required inputs have no default and may not be empty.
	Required bool
	// Default is what an empty input means, "" when there is no such thing.
	Default string
	// RunnerDefault is an expression that action.yml has as the default, since only
	// a workflow's runner can say what it stands for; "" when it has Default.
	RunnerDefault string
}

// ActionDefault is the default that action.yml has, "" when it has none.
func (in Input) ActionDefault() string { return cmp.Or(in.RunnerDefault, in.Default) }

// The names of the inputs.
const (
	kubeconfig        = "kubeconfig"
	kubeconfigContent = "kubeconfig-content"

	clientID          = "client-id"
	clusterID         = "cluster-id"
	resourceGroup     = "resource-group"
	clusterName       = "cluster-name"
	auth              = "auth"
	serviceConnection = "service-connection"
	azureCloud        = "environment" // as azure/login calls it
	authorityHost     = "authority-host"
	resourceManager   = "resource-manager-endpoint"
	audience          = "audience"
	admin             = "admin"
	usePrivateFQDN    = "use-private-fqdn"

	contextFile      = "context-file"
	sourceCommit     = "source-commit"
	targetBinding    = "target-binding"
	tenantID         = "tenant-id"
	subscriptionID   = "subscription-id"
	templateDigest   = "template-digest"
	identityBinding  = "identity-binding"
	cronJob          = "cronjob"
	namespace        = "namespace"
	purpose          = "purpose"
	container        = "container"
	image            = "image"
	command          = "command"
	serviceAccount   = "service-account"
	arguments        = "args"
	jobEnvironment   = "env"
	requireSuspended = "require-suspended"
	timeout          = "timeout"
	retries          = "retries"
	retryEnvironment = "retry-env"
	workDir          = "work-dir"
	dialect          = "contract"

	checkpointStores    = "checkpoint-stores"
	checkpointKey       = "checkpoint-key"
	checkpointRetention = "checkpoint-retention"
	checkpointCleanup   = "checkpoint-cleanup"
	githubToken         = "github-token"
)

// Inputs lists every input, in the order in which errors are reported.
func Inputs() []Input { return slices.Clone(inputs) }

var inputs = []Input{
	{Name: kubeconfig, Description: "Path of a kubeconfig file with a token, a client certificate or a password. The file must be private: mode 0600, one link, owned by the user that runs the action, in a folder of mode 0700, with no symbolic link or replaceable folder on the way. Default: the kubeconfig that the context file names, unless inputs of Azure are given."},
	{Name: kubeconfigContent, Description: "The kubeconfig itself, from a secret, instead of a path. It is kept in memory and never written to disk."},
	{Name: clientID, Description: "Sign in to Azure instead of giving a kubeconfig: the client id of the app registration or managed identity that signs in, a GUID; no client secret is needed. auth github, azure-pipelines and workload-identity need it."},
	{Name: clusterID, Description: "Resource id of the AKS cluster: /subscriptions/…/resourceGroups/…/providers/Microsoft.ContainerService/managedClusters/…, as az aks show --query id prints it. Give this, or resource-group and cluster-name."},
	{Name: resourceGroup, Description: "Resource group of the AKS cluster, in the subscription of subscription-id."},
	{Name: clusterName, Description: "Name of the AKS cluster in Azure; not its address."},
	{Name: auth, Description: "How to sign in to Azure: github (the workflow's id token; the job needs permissions: id-token: write), azure-pipelines (the id token of a service connection), workload-identity (a token file), managed-identity or azure-cli. Default: github in a GitHub workflow, azure-pipelines in Azure Pipelines, else workload-identity where AZURE_FEDERATED_TOKEN_FILE is set, else azure-cli."},
	{Name: serviceConnection, Description: "Id of the Azure Pipelines service connection to sign in with, a GUID: the resourceId in the address of its page. Only for auth azure-pipelines. Default: what an AzureCLI task says."},
	{Name: azureCloud, Description: "The Azure cloud that the cluster is in: AzureCloud, AzureUSGovernment or AzureChinaCloud. Environment variables of the Job go into env.", Default: clouds[0]},
	{Name: authorityHost, Description: "Where to sign in, for another cloud than those of environment: https:// and a host."},
	{Name: resourceManager, Description: "Azure Resource Manager of another cloud than those of environment: https:// and a host."},
	{Name: audience, Description: "Audience of the id token that a GitHub workflow asks for, where the federated credential wants another than usual. Default: api://AzureADTokenExchange, or that of the cloud."},
	{Name: admin, Description: "true or false: take the cluster's admin credential, past Entra and past every Role. It needs local accounts, which a well-kept cluster has disabled.", Default: "false"},
	{Name: usePrivateFQDN, Description: "true: connect to a private cluster by its private name; false: by its public one. Empty takes the name that AKS hands out."},
	{Name: contextFile, Description: "Path of the context of the reviewed deployment, as JSON: source_commit, target_binding, tenant_id, subscription_id, protected_aks_job_template_digests, protected_aks_job_identity_bindings and, if it likes, kubeconfig. Give this or the six inputs that follow; only tenant-id and subscription-id may be given beside it."},
	{Name: sourceCommit, Description: "Commit that the reviewed deployment was built from: 40 lower-case hexadecimal digits."},
	{Name: targetBinding, Description: "Digest of the target that the deployment belongs to: 64 lower-case hexadecimal digits. Each cluster needs one of its own, which tells executions there from those elsewhere."},
	{Name: tenantID, Description: "Entra tenant, a GUID: that of the workload's identity in the context, and the one to sign in to. Beside context-file it may be left out, and must be the same as the tenant_id there."},
	{Name: subscriptionID, Description: "Azure subscription, a GUID: that of the workload's identity in the context, and the one that the cluster is in. Beside context-file it may be left out, and must be the same as the subscription_id there."},
	{Name: templateDigest, Description: "Pinned contract digest of the CronJob: 64 lower-case hexadecimal digits."},
	{Name: identityBinding, Description: "Pinned identity binding of the CronJob's ServiceAccount: a JSON object, as the context has it."},
	{Name: cronJob, Description: "Name of the reviewed CronJob that the Job is taken from.", Required: true},
	{Name: namespace, Description: "Namespace of the CronJob and the Job. The fdai/v1 contract knows only this one.", Default: "fdai-runtime"},
	{Name: purpose, Description: "What this run is for, as a DNS label. It is part of the Job's name and identity: the same work under another purpose is another execution.", Required: true},
	{Name: container, Description: "Name that the CronJob's one container must have.", Required: true},
	{Name: image, Description: "Image that the container must have, pinned by digest: registry/repository@sha256:…", Required: true},
	{Name: command, Description: "Command that the container must have, one argument a line. A value that begins with [ is read as a JSON list of strings.", Required: true},
	{Name: serviceAccount, Description: "Name of the ServiceAccount that the Job must run as.", Required: true},
	{Name: arguments, Description: "Arguments that replace the container's, one a line. A value that begins with [ is read as a JSON list of strings."},
	{Name: jobEnvironment, Description: "Environment variables of the Job in this run, NAME=value a line, merged into the container's. It is recorded in plain text, so names with KEY, PASSWORD, SECRET or TOKEN in them are refused."},
	{Name: requireSuspended, Description: "true or false: the suspension that the CronJob must have. Empty accepts both."},
	{Name: timeout, Description: "How long each execution gets, from its first request to the end of its Job: a duration such as 45m, or seconds; from 1s to 6h. A Job still running then goes on; run again to resume.", Default: "35m"},
	{Name: retries, Description: "How many successors may follow a Job that failed: 0, 1 or 2. Each is a Job of its own.", Default: "0"},
	{Name: retryEnvironment, Description: "Environment of each successor in place of env: a JSON list of as many objects of strings as retries says."},
	{Name: workDir, Description: "Folder of the records that a re-run resumes from. It must be private: mode 0700, owned by the user that runs the action, with no symbolic link or replaceable folder on the way. Default: /var/lib/aks-oneshot for root, else aks-oneshot in $XDG_STATE_HOME or ~/.local/state."},
	{Name: checkpointStores, Description: "Where records are kept beside work-dir, so that a re-run on another machine resumes: some of artifact (of the workflow run), cluster (a ConfigMap beside the Job) and cache (of the repository), with commas or spaces between them. none: nowhere. auto: artifact for an action on GitHub.com, else cluster. docs/stores.md has what each survives and needs.", Default: autoStores},
	{Name: checkpointKey, Description: "Signs each record that is kept in a store, so that none that somebody else has written there is taken: a secret of at least 32 bytes, as openssl rand -hex 32 makes one. With it, a record that is not signed with it is refused. cache needs it, alone or beside other stores. The log says whether records are signed."},
	{Name: checkpointRetention, Description: "How long the store cluster keeps the records of an execution, in days such as 90d or hours such as 36h; from 1d to 3650d. What has expired is removed by a later run.", Default: "90d"},
	{Name: checkpointCleanup, Description: "true or false: remove the artifacts of an execution's earlier steps once that of its last one is stored and was read back. Those of earlier attempts take permissions: actions: write.", Default: "false"},
	{Name: githubToken, Description: "Token that looks for the artifacts of earlier attempts. It needs permissions: actions: read from the first attempt on, without which a re-run that finds no records refuses. Default in a workflow: that of the job.", RunnerDefault: "${{ github.token }}"},
	{Name: dialect, Description: "How the CronJob is digested and the Job named and recorded. fdai/v1 is the only contract so far.", Default: FDAI},
}

// find returns the input of the given name.
func find(name string) (Input, bool) {
	for _, in := range inputs {
		if in.Name == name {
			return in, true
		}
	}
	return Input{}, false
}
