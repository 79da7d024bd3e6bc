package standin

import (
	"fmt"
	"strings"
)

// Cluster is a managed cluster of AKS. Only ResourceGroup and Name have to be
// set; without Server its kubeconfigs lead nowhere.
type Cluster struct {
	ResourceGroup, Name string
	// Server and CA are the API server's address and, in PEM, its authority.
	Server string
	CA     []byte
	// PublicServer and PrivateServer are the addresses that a kubeconfig has when
	// the caller asks for one of the two (server-fqdn=public or private); Server
	// when empty.
	PublicServer, PrivateServer string
	// User and Admin are who the two kubeconfigs are for.
	User, Admin User
	// State is its provisioning state, "Succeeded" when empty; Power is "Running"
	// when empty, or "Stopped".
	State, Power string
	// Version is that of Kubernetes, 1.34.2 when empty.
	Version string
	// LocalAccounts are there unless NoLocalAccounts; without Entra, which is
	// NoEntra, nobody else is. AzureRBAC leaves authorization to Azure.
	NoLocalAccounts, NoEntra, AzureRBAC bool
	// Private has the API server's name in a private zone.
	Private bool
	// Pools is how many agent pools the answer tells of: each makes it about 1.5
	// KiB longer. 8 when zero.
	Pools int
}

const location = "westeurope"

// fqdns are the names of the API server; private is empty when it has none.
func (c Cluster) fqdns() (public, private, portal string) {
	prefix := strings.ToLower(c.Name) + "-dns-4c1e0b7a"
	if c.Private {
		private = prefix + ".7b6a4f7e-0f1c-4a6f-9f0e-3f1d2c5b6a79.privatelink." + location + ".azmk8s.io"
	}
	return prefix + ".hcp." + location + ".azmk8s.io", private, prefix + ".portal.hcp." + location + ".azmk8s.io"
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// object is the cluster as ARM shows it.
// https://learn.microsoft.com/en-us/rest/api/aks/managed-clusters/get
func (c Cluster) object(subscription, tenant string) map[string]any {
	group := "/subscriptions/" + subscription + "/resourceGroups/" + c.ResourceGroup
	nodes := "/subscriptions/" + subscription + "/resourceGroups/MC_" + c.ResourceGroup + "_" + c.Name + "_" + location
	version := orElse(c.Version, "1.34.2")
	public, private, portal := c.fqdns()
	identity := func(name, id string) map[string]any {
		return map[string]any{"resourceId": nodes + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/" + name, "clientId": id, "objectId": id}
	}
	properties := map[string]any{
		"provisioningState": orElse(c.State, "Succeeded"), "powerState": map[string]any{"code": orElse(c.Power, "Running")},
		"kubernetesVersion": version, "currentKubernetesVersion": version, "dnsPrefix": c.Name + "-dns", "fqdn": public, "azurePortalFQDN": portal,
		"agentPoolProfiles":       c.pools(nodes, version),
		"linuxProfile":            map[string]any{"adminUsername": "azureuser", "ssh": map[string]any{"publicKeys": []any{map[string]any{"keyData": "ssh-rsa " + strings.Repeat("AAAAB3NzaC1yc2EAAAADAQAB", 22) + " azureuser"}}}},
		"windowsProfile":          map[string]any{"adminUsername": "azureuser", "enableCSIProxy": true},
		"servicePrincipalProfile": map[string]any{"clientId": "msi"},
		"addonProfiles": map[string]any{
			"azureKeyvaultSecretsProvider": map[string]any{"enabled": true, "config": map[string]any{"enableSecretRotation": "true", "rotationPollInterval": "2m"}, "identity": identity("azurekeyvaultsecretsprovider-"+c.Name, "0e3c2b4e-5f92-4b2e-9b52-2b0f0d0c1a01")},
			"azurepolicy":                  map[string]any{"enabled": true, "config": nil, "identity": identity("azurepolicy-"+c.Name, "0e3c2b4e-5f92-4b2e-9b52-2b0f0d0c1a02")},
			"omsagent":                     map[string]any{"enabled": true, "config": map[string]any{"logAnalyticsWorkspaceResourceID": group + "/providers/Microsoft.OperationalInsights/workspaces/logs", "useAADAuth": "true"}, "identity": identity("omsagent-"+c.Name, "0e3c2b4e-5f92-4b2e-9b52-2b0f0d0c1a03")},
		},
		"nodeResourceGroup": "MC_" + c.ResourceGroup + "_" + c.Name + "_" + location, "enableRBAC": true, "supportPlan": "KubernetesOfficial", "maxAgentPools": 100,
		"networkProfile": map[string]any{
			"networkPlugin": "azure", "networkPluginMode": "overlay", "networkPolicy": "cilium", "networkDataplane": "cilium",
			"loadBalancerSku": "standard", "podCidr": "10.244.0.0/16", "serviceCidr": "10.0.0.0/16", "dnsServiceIP": "10.0.0.10", "outboundType": "loadBalancer",
			"podCidrs": []string{"10.244.0.0/16"}, "serviceCidrs": []string{"10.0.0.0/16"}, "ipFamilies": []string{"IPv4"},
			"loadBalancerProfile": map[string]any{"managedOutboundIPs": map[string]any{"count": 1}, "backendPoolType": "nodeIPConfiguration", "effectiveOutboundIPs": []any{map[string]any{"id": nodes + "/providers/Microsoft.Network/publicIPAddresses/8c4fd2c1-3f5e-4f0e-8a8e-2d9f0c1b7a63"}}},
		},
		"apiServerAccessProfile":    map[string]any{"enablePrivateCluster": c.Private, "authorizedIPRanges": []string{"203.0.113.0/24"}},
		"identityProfile":           map[string]any{"kubeletidentity": identity(c.Name+"-agentpool", "0e3c2b4e-5f92-4b2e-9b52-2b0f0d0c1a04")},
		"autoScalerProfile":         map[string]any{"balance-similar-node-groups": "false", "expander": "random", "max-empty-bulk-delete": "10", "max-graceful-termination-sec": "600", "max-node-provision-time": "15m", "max-total-unready-percentage": "45", "new-pod-scale-up-delay": "0s", "ok-total-unready-count": "3", "scale-down-delay-after-add": "10m", "scale-down-delay-after-delete": "10s", "scale-down-delay-after-failure": "3m", "scale-down-unneeded-time": "10m", "scale-down-unready-time": "20m", "scale-down-utilization-threshold": "0.5", "scan-interval": "10s", "skip-nodes-with-local-storage": "false", "skip-nodes-with-system-pods": "true"},
		"autoUpgradeProfile":        map[string]any{"upgradeChannel": "patch", "nodeOSUpgradeChannel": "NodeImage"},
		"disableLocalAccounts":      c.NoLocalAccounts,
		"securityProfile":           map[string]any{"workloadIdentity": map[string]any{"enabled": true}, "imageCleaner": map[string]any{"enabled": true, "intervalHours": 168}},
		"storageProfile":            map[string]any{"diskCSIDriver": map[string]any{"enabled": true}, "fileCSIDriver": map[string]any{"enabled": true}, "snapshotController": map[string]any{"enabled": true}},
		"oidcIssuerProfile":         map[string]any{"enabled": true, "issuerURL": "https://" + location + ".oic.prod-aks.azure.com/" + tenant + "/5c8e7e5f-6b7e-4a51-9c5c-0f4d1b0c9a55/"},
		"workloadAutoScalerProfile": map[string]any{}, "metricsProfile": map[string]any{"costAnalysis": map[string]any{"enabled": false}},
		"resourceUID": "6930f1a2b4c5d60001a1b2c3", "nodeProvisioningProfile": map[string]any{"mode": "Manual", "defaultNodePools": "Auto"}, "bootstrapProfile": map[string]any{"artifactSource": "Direct"},
	}
	if c.Private {
		properties["privateFQDN"] = private
		properties["privateLinkResources"] = []any{map[string]any{"id": c.id(subscription) + "/privateLinkResources/management", "name": "management", "type": "Microsoft.ContainerService/managedClusters/privateLinkResources", "groupId": "management", "requiredMembers": []string{"management"}}}
	}
	if !c.NoEntra {
		properties["aadProfile"] = map[string]any{"managed": true, "adminGroupObjectIDs": []string{"2c6f2f46-8a0e-4a4b-8c7f-5c1c5f0e9a11"}, "adminUsers": nil, "enableAzureRBAC": c.AzureRBAC, "tenantID": tenant}
	}
	return map[string]any{
		"id": c.id(subscription), "name": c.Name, "type": "Microsoft.ContainerService/ManagedClusters", "location": location,
		"tags": map[string]any{"environment": "production", "team": "platform"}, "eTag": "1f4d9c52-2d55-4d1c-8c59-6a1f0e7b3c21",
		"sku": map[string]any{"name": "Base", "tier": "Standard"}, "properties": properties,
		"identity": map[string]any{"type": "SystemAssigned", "principalId": "0e3c2b4e-5f92-4b2e-9b52-2b0f0d0c1a05", "tenantId": tenant},
	}
}

func (c Cluster) id(subscription string) string {
	return "/subscriptions/" + subscription + "/resourcegroups/" + c.ResourceGroup + "/providers/Microsoft.ContainerService/managedClusters/" + c.Name
}

func (c Cluster) pools(nodes, version string) []any {
	count := c.Pools
	if count == 0 {
		count = 8
	}
	var pools []any
	for i := range count {
		mode := "User"
		if i == 0 {
			mode = "System"
		}
		name := fmt.Sprintf("pool%d", i)
		pools = append(pools, map[string]any{
			"name": name, "count": 3, "vmSize": "Standard_D4ds_v5", "osDiskSizeGB": 128, "osDiskType": "Ephemeral", "kubeletDiskType": "OS",
			"vnetSubnetID": nodes + "/providers/Microsoft.Network/virtualNetworks/aks-vnet/subnets/" + name, "maxPods": 250, "type": "VirtualMachineScaleSets",
			"availabilityZones": []string{"1", "2", "3"}, "maxCount": 10, "minCount": 1, "enableAutoScaling": true, "scaleDownMode": "Delete",
			"provisioningState": "Succeeded", "powerState": map[string]any{"code": "Running"}, "orchestratorVersion": version, "currentOrchestratorVersion": version,
			"enableNodePublicIP": false, "nodeLabels": map[string]any{"team": "platform", "pool": name, "kubernetes.azure.com/scalesetpriority": "regular"},
			"nodeTaints": []string{"workload=" + name + ":NoSchedule"}, "mode": mode, "enableEncryptionAtHost": true, "enableUltraSSD": false,
			"osType": "Linux", "osSKU": "AzureLinux", "nodeImageVersion": "AKSAzureLinux-V3gen2-202611.04.0", "enableFIPS": false,
			"upgradeSettings": map[string]any{"maxSurge": "10%", "maxUnavailable": "0", "drainTimeoutInMinutes": 30}, "networkProfile": map[string]any{},
			"securityProfile": map[string]any{"enableVTPM": false, "enableSecureBoot": false, "sshAccess": "LocalUser"}, "eTag": "5d6c2f6b-5d1f-4a3b-9d0e-7a8b9c0d1e2f",
			"kubeletConfig": map[string]any{"cpuManagerPolicy": "static", "cpuCfsQuota": true, "imageGcHighThreshold": 85, "imageGcLowThreshold": 80, "containerLogMaxSizeMB": 50, "containerLogMaxFiles": 5, "podMaxPids": 4096},
			"linuxOSConfig": map[string]any{"sysctls": map[string]any{"netCoreSomaxconn": 16384, "netIpv4TcpTwReuse": true, "netIpv4IpLocalPortRange": "32000 60000", "fsInotifyMaxUserWatches": 781250, "vmMaxMapCount": 262144}, "transparentHugePageEnabled": "madvise"},
		})
	}
	return pools
}
