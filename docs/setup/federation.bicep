// Gives a workflow an identity in Azure: a managed identity that trusts the id
// tokens of one subject and may look up one cluster. Deploy it to the cluster's
// resource group; what it may do in the cluster is docs/setup/namespace.yaml.
//
//   az deployment group create --resource-group example-rg \
//     --template-file docs/setup/federation.bicep \
//     --parameters clusterName=example identityName=aks-oneshot-octo-repo-production \
//       subject=repo:octo-org/octo-repo:environment:production \
//     --query properties.outputs
targetScope = 'resourceGroup'

@description('Name of the AKS cluster in this resource group.')
param clusterName string

@description('The sub of the id tokens to trust, as a whole: there are no wildcards. A : in the name of an environment is written %3A.')
param subject string

@description('The iss of the id tokens to trust: GitHub, or what an Azure Pipelines service connection shows.')
param issuer string = 'https://token.actions.githubusercontent.com'

@description('The aud of the id tokens: that of the public cloud, or api://AzureADTokenExchangeUSGov, or api://AzureADTokenExchangeChina.')
param audience string = 'api://AzureADTokenExchange'

@description('Name of the identity: each environment of each repository has one of its own.')
param identityName string

param location string = resourceGroup().location

@description('A credential replaces the one that has its name, so each subject has a name of its own.')
param credentialName string = 'aks-oneshot-${uniqueString(issuer, subject)}'

// Azure Kubernetes Service Cluster User Role: managedClusters/read and
// managedClusters/listClusterUserCredential/action, nothing else.
var clusterUserRole = '4abbcc35-e782-43d8-92c5-2d3f1bd2253f'

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: identityName
  location: location
}

resource credential 'Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials@2024-11-30' = {
  parent: identity
  name: credentialName
  properties: {
    issuer: issuer
    subject: subject
    audiences: [
      audience
    ]
  }
}

resource cluster 'Microsoft.ContainerService/managedClusters@2025-09-01' existing = {
  name: clusterName
}

resource mayLookUp 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: cluster
  name: guid(cluster.id, identity.id, clusterUserRole)
  properties: {
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', clusterUserRole)
  }
}

@description('The inputs of the action.')
output inputs object = {
  'tenant-id': identity.properties.tenantId
  'client-id': identity.properties.clientId
  'subscription-id': subscription().subscriptionId
  'resource-group': resourceGroup().name
  'cluster-name': cluster.name
}

@description('Whom the API server knows the identity as: OBJECT_ID in docs/setup/namespace.yaml.')
output objectId string = identity.properties.principalId
