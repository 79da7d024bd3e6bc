# Gives a workflow an identity in Azure: a managed identity that trusts the id
# tokens of one subject, may look up one cluster, and may run Jobs in one
# namespace of it.

terraform {
  required_version = ">= 1.5"
  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "~> 5.0"
    }
    kubernetes = {
      source  = "hashicorp/kubernetes"
      version = ">= 2.35"
    }
  }
}

variable "subscription_id" {
  description = "Subscription of the cluster and of the identity."
  type        = string
}

variable "location" {
  description = "Region of the identity."
  type        = string
}

variable "identity_name" {
  description = "Name of the identity: each environment of each repository has one of its own."
  type        = string
}

variable "identity_resource_group_name" {
  description = "Resource group of the identity."
  type        = string
}

variable "cluster_resource_group_name" {
  description = "Resource group of the cluster, not that of its nodes."
  type        = string
}

variable "cluster_name" {
  description = "Name of the AKS cluster."
  type        = string
}

variable "subject" {
  description = "The sub of the id tokens to trust, as a whole: repo:octo-org/octo-repo:environment:production. A : in the name of an environment is written %3A."
  type        = string
}

variable "issuer" {
  description = "The iss of the id tokens to trust: GitHub, or what an Azure Pipelines service connection shows."
  type        = string
  default     = "https://token.actions.githubusercontent.com"
}

variable "audience" {
  description = "The aud of the id tokens: that of the public cloud, or api://AzureADTokenExchangeUSGov, or api://AzureADTokenExchangeChina."
  type        = string
  default     = "api://AzureADTokenExchange"
}

variable "kubeconfig_context" {
  description = "Context of the kubeconfig that may create Roles in the cluster."
  type        = string
}

locals {
  # Written down and not looked up: the data source azurerm_kubernetes_cluster
  # would put the cluster's credentials into the state.
  cluster_id = "/subscriptions/${var.subscription_id}/resourceGroups/${var.cluster_resource_group_name}/providers/Microsoft.ContainerService/managedClusters/${var.cluster_name}"
  # A credential replaces the one that has its name, so each subject has a name of
  # its own: 3 to 120 letters, digits, dashes and underscores.
  credential_name = "${trim(substr(trim(replace(var.subject, "/[^0-9A-Za-z_]+/", "-"), "-_"), 0, 60), "-_")}-${substr(sha256(var.subject), 0, 8)}"
}

provider "azurerm" {
  features {}
  subscription_id = var.subscription_id
}

provider "kubernetes" {
  config_path    = "~/.kube/config"
  config_context = var.kubeconfig_context
}

resource "azurerm_user_assigned_identity" "oneshot" {
  name                = var.identity_name
  resource_group_name = var.identity_resource_group_name
  location            = var.location
}

resource "azurerm_federated_identity_credential" "oneshot" {
  name                      = local.credential_name
  user_assigned_identity_id = azurerm_user_assigned_identity.oneshot.id
  issuer                    = var.issuer
  subject                   = var.subject
  audience                  = [var.audience]
}

resource "azurerm_role_assignment" "may_look_up" {
  scope                = local.cluster_id
  role_definition_name = "Azure Kubernetes Service Cluster User Role"
  principal_id         = azurerm_user_assigned_identity.oneshot.principal_id
  principal_type       = "ServicePrincipal"
}

resource "kubernetes_role_v1" "oneshot" {
  metadata {
    name      = "aks-oneshot"
    namespace = "fdai-runtime"
  }
  rule {
    api_groups = ["batch"]
    resources  = ["cronjobs"]
    verbs      = ["get"]
  }
  rule {
    api_groups = [""]
    resources  = ["serviceaccounts"]
    verbs      = ["get"]
  }
  rule {
    api_groups = ["batch"]
    resources  = ["jobs"]
    verbs      = ["get", "list", "watch", "create"]
  }
  rule {
    api_groups = [""]
    resources  = ["configmaps"]
    verbs      = ["get", "list", "create", "update", "delete"]
  }
}

resource "kubernetes_role_binding_v1" "oneshot" {
  metadata {
    # Of this identity alone: the next one has a binding of its own.
    name      = "aks-oneshot-${azurerm_user_assigned_identity.oneshot.principal_id}"
    namespace = "fdai-runtime"
  }
  role_ref {
    api_group = "rbac.authorization.k8s.io"
    kind      = "Role"
    name      = kubernetes_role_v1.oneshot.metadata[0].name
  }
  subject {
    # AKS knows an application or managed identity by its object id.
    api_group = "rbac.authorization.k8s.io"
    kind      = "User"
    name      = azurerm_user_assigned_identity.oneshot.principal_id
  }
}

output "inputs" {
  description = "The inputs of the action."
  value = {
    "tenant-id"       = azurerm_user_assigned_identity.oneshot.tenant_id
    "client-id"       = azurerm_user_assigned_identity.oneshot.client_id
    "subscription-id" = var.subscription_id
    "resource-group"  = var.cluster_resource_group_name
    "cluster-name"    = var.cluster_name
  }
}
