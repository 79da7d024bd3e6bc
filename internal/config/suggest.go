package config

import "strings"

// didYouMean returns a suggestion for a name that is no input, or "" when none
// is near enough to be meant.
func didYouMean(name string) string {
	best, distance := "", len(name)/3+1
	for _, in := range inputs {
		d := editDistance(name, in.Name)
		// An input's name with something left out or added is near, too.
		if name != "" && (strings.HasPrefix(in.Name, name) || strings.HasPrefix(name, in.Name)) {
			d = min(d, len(name)/3)
		}
		if d < distance {
			best, distance = in.Name, d
		}
	}
	if best == "" {
		return "; aks-oneshot help run lists them"
	}
	return "; did you mean --" + best + "?"
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
