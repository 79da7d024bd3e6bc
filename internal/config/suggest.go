package config

import (
	"slices"
	"strings"
)

// withSecret are what other tools call the input for a secret to sign in to Azure
// with: azure/login creds, kubelogin client-secret, az password.
var withSecret = []string{"client-secret", "creds", "password", "secret"}

// didYouMean returns a suggestion for a name that is no input, or what lists the
// inputs when none is near enough to be meant.
func didYouMean(name string) string {
	if slices.Contains(withSecret, name) {
		return "; no secret is needed to sign in to Azure, give --" + clientID
	}
	names := make([]string, len(inputs))
	for i, in := range inputs {
		names[i] = in.Name
	}
	switch best := nearest(name, names); best {
	case "":
		return "; aks-oneshot help run lists them"
	case jobEnvironment, azureCloud:
		return "; did you mean --" + jobEnvironment + " (variables of the Job) or --" + azureCloud + " (the Azure cloud)?"
	default:
		return "; did you mean --" + best + "?"
	}
}

// nearest returns the one of some names that another is most like, or "" when
// none is near enough to be meant.
func nearest(name string, names []string) string {
	best, distance := "", len(name)/3+1
	for _, n := range names {
		d := editDistance(name, n)
		// A name with something left out or added is near, too.
		if name != "" && (strings.HasPrefix(n, name) || strings.HasPrefix(name, n)) {
			d = min(d, len(name)/3)
		}
		if d < distance {
			best, distance = n, d
		}
	}
	return best
}

// editDistance is the Levenshtein distance: how many letters have to be
// inserted, removed or replaced to make one of the other.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
