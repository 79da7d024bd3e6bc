#!/bin/sh
# Gives a workflow an identity in Azure, once: a managed identity that trusts the
# id tokens of one environment of one repository, may look up one cluster, and may
# run Jobs in one namespace of it. Nothing of this is a secret.
#
# Needs az, signed in as somebody who may create identities and assign roles; gh,
# signed in; and kubectl with a context that may create Roles in the namespace
# fdai-runtime, which has to be there. It may be run again.
set -eu

# Yours: change these.
repository=octo-org/octo-repo
environment=production
subscription=11111111-2222-3333-4444-555555555555
location=westeurope
identity_group=example-rg # resource group of the identity
identity=aks-oneshot-octo-repo-production # one for each environment of each repository
cluster_group=example-rg # resource group of the cluster, not of its nodes
cluster=example
context=example # of kubectl: kubectl config get-contexts

# GitHub's. For Azure Pipelines, set issuer here and subject below to what the
# service connection shows, and leave out the two parts that are for GitHub only.
issuer=https://token.actions.githubusercontent.com
# Of the public cloud. api://AzureADTokenExchangeUSGov and
# api://AzureADTokenExchangeChina are those of the others.
audience=api://AzureADTokenExchange

if ! kubectl --context "$context" get namespace fdai-runtime >/dev/null; then
	echo "kubectl finds no namespace fdai-runtime by the context $context: docs/example.yaml has one" >&2
	exit 1
fi
# --- For GitHub only, from here.
# GitHub creates an environment that is not there at the first run that names it, and
# with no rules.
if ! gh api --paginate "repos/$repository/environments" --jq '.environments[].name' | grep -qxF -e "$environment"; then
	echo "$repository has no environment $environment: make it first, with the rules that are to count" >&2
	exit 1
fi
# --- To here.

# --- For GitHub only, from here.
# repo:OWNER/NAME, or repo:OWNER@ID/NAME@ID where subjects are immutable.
prefix=$(gh api "repos/$repository/actions/oidc/customization/sub" \
	--jq 'if .use_default then .sub_claim_prefix // "" else "" end')
if [ -z "$prefix" ]; then
	echo "the subjects of $repository are not GitHub's usual ones: set subject by hand" >&2
	exit 1
fi
# --- To here.
# GitHub writes a : in the name of an environment like this.
subject=$prefix:environment:$(printf %s "$environment" | sed 's/:/%3A/g')

# What the federated credential is called: to create one under a name that is taken
# replaces the one that has it, so each subject has a name of its own.
hash=$(printf %s "$subject" | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c 1-8)
credential=$(printf %s "$subject" | LC_ALL=C tr -cs 'A-Za-z0-9_' '-' | sed 's/^[-_]*//' | cut -c 1-60 | sed 's/[-_]*$//')-$hash

echo "an identity that trusts $subject"
az identity create --subscription "$subscription" --resource-group "$identity_group" \
	--name "$identity" --location "$location" --output none
show() {
	az identity show --subscription "$subscription" --resource-group "$identity_group" \
		--name "$identity" --query "$1" --output tsv
}
client_id=$(show clientId)
object_id=$(show principalId)
tenant_id=$(show tenantId)
az identity federated-credential create --subscription "$subscription" \
	--resource-group "$identity_group" --identity-name "$identity" --name "$credential" \
	--issuer "$issuer" --subject "$subject" --audiences "$audience" --output none

echo "that may look up the cluster $cluster"
cluster_id=$(az aks show --subscription "$subscription" --resource-group "$cluster_group" \
	--name "$cluster" --query id --output tsv)
az role assignment create --assignee-object-id "$object_id" \
	--assignee-principal-type ServicePrincipal --scope "$cluster_id" \
	--role 'Azure Kubernetes Service Cluster User Role' --output none

cat <<EOF
The inputs of the action are then:

  tenant-id: $tenant_id
  client-id: $client_id
  subscription-id: $subscription
  resource-group: $cluster_group
  cluster-name: $cluster

EOF

echo "and that may run Jobs in the namespace fdai-runtime of it"
kubectl --context "$context" apply -f - <<EOF
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: aks-oneshot
  namespace: fdai-runtime
rules:
  - apiGroups: [batch]
    resources: [cronjobs]
    verbs: [get]
  - apiGroups: [""]
    resources: [serviceaccounts]
    verbs: [get]
  - apiGroups: [batch]
    resources: [jobs]
    verbs: [get, list, watch, create]
  - apiGroups: [""]
    resources: [configmaps]
    verbs: [get, list, create, update, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: aks-oneshot-$object_id
  namespace: fdai-runtime
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: aks-oneshot
subjects:
  - apiGroup: rbac.authorization.k8s.io
    kind: User
    name: $object_id
EOF
