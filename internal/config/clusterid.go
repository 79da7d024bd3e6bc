package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// The names of Azure are those of "Naming rules and restrictions for Azure
// resources" (learn.microsoft.com/azure/azure-resource-manager/management/
// resource-name-rules), which also says to compare them in any case. An error
// about one tells places, not the value: it may be a secret that went astray.

const (
	maxResourceGroup = 90
	maxClusterName   = 63
)

// parseResourceGroup returns the name of a resource group: 1 to 90 letters and
// digits (of any script, as .NET's Char.IsLetterOrDigit has them), _ - . ( and ),
// with no dot at the end.
func parseResourceGroup(s string) (string, error) {
	at := 0
	for _, r := range s {
		at++
		if !unicode.In(r, unicode.L, unicode.Nd) && !strings.ContainsRune("_-.()", r) {
			return "", notAllowed(s, at, "letters, digits, _ - . ( and )")
		}
	}
	switch {
	case at == 0 || at > maxResourceGroup:
		return "", fmt.Errorf("has %d characters; the name of a resource group has 1 to %d", at, maxResourceGroup)
	case strings.HasSuffix(s, "."):
		return "", errors.New("ends with a dot, as no name of a resource group does")
	}
	return s, nil
}

var clusterNameForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$`)

// parseClusterName returns the name of an AKS cluster: 1 to 63 ASCII letters and
// digits, _ and -, with a letter or digit at both ends.
func parseClusterName(s string) (string, error) {
	if strings.Contains(s, "://") || strings.Contains(strings.ToLower(s), ".azmk8s.") {
		return "", errors.New("is an address; want the name of the cluster, as az aks list prints it")
	}
	for i, r := range []rune(s) {
		if r > unicode.MaxASCII || !unicode.In(r, unicode.L, unicode.Nd) && r != '_' && r != '-' {
			return "", notAllowed(s, i+1, "A to Z in either case, digits, _ and -")
		}
	}
	switch {
	case s == "" || len(s) > maxClusterName:
		return "", fmt.Errorf("has %d characters; the name of an AKS cluster has 1 to %d", len(s), maxClusterName)
	case !clusterNameForm.MatchString(s):
		return "", errors.New("does not begin and end with a letter or digit, as every name of an AKS cluster does")
	}
	return s, nil
}

func notAllowed(s string, at int, want string) error {
	if strings.HasPrefix(s, "/") {
		return errors.New("holds a path, and wants the name alone; the cluster's whole id goes into " + clusterID)
	}
	return fmt.Errorf("has a character that is not allowed, the one at place %d; want %s", at, want)
}

// cluster is what identifies an AKS cluster in Azure.
type cluster struct {
	subscription contract.GUID
	group, name  string
}

// idForm is the resource id of an AKS cluster, "" where the segment is its own.
var idForm = []string{"", "subscriptions", "", "resourceGroups", "", "providers", "Microsoft.ContainerService", "managedClusters", ""}

// parseClusterID takes the resource id of an AKS cluster apart. Its fixed
// segments may be in any case, since Azure itself writes them in several; what
// azcore's ParseResourceID lets pass (segments that are empty or missing, and
// resources of every kind) is an error here, since it names no cluster, or
// another resource than was meant.
func parseClusterID(s string) (cluster, error) {
	const want = "want /subscriptions/…/resourceGroups/…/providers/Microsoft.ContainerService/managedClusters/…, as az aks show --query id prints it"
	segments := strings.Split(strings.TrimSuffix(s, "/"), "/")
	for i, fixed := range idForm {
		switch {
		case i == 0 && segments[0] != "":
			return cluster{}, errors.New("does not begin with a slash; " + want)
		case i == len(segments):
			return cluster{}, fmt.Errorf("ends after %d of its %d parts; %s", i-1, len(idForm)-1, want)
		case fixed != "" && !strings.EqualFold(segments[i], fixed):
			return cluster{}, fmt.Errorf("part %d is %s, not %s; %s", i, plainly(segments[i]), fixed, want)
		}
	}
	if len(segments) > len(idForm) {
		return cluster{}, errors.New("goes on after the cluster's name; " + want)
	}
	var c cluster
	var err error
	if c.subscription, err = parseGUID(segments[2]); err != nil {
		return cluster{}, fmt.Errorf("its subscription %w", err)
	}
	if c.group, err = parseResourceGroup(segments[4]); err != nil {
		return cluster{}, fmt.Errorf("its resource group %w", err)
	}
	if c.name, err = parseClusterName(segments[8]); err != nil {
		return cluster{}, fmt.Errorf("its cluster name %w", err)
	}
	return c, nil
}
