package report

import "encoding/json"

// Artifact is an artifact of a workflow run.
type Artifact struct {
	Name string `json:"name"`
	ID   int64  `json:"id"`
}

// stored reports whether a run on another machine finds every record that this one
// knows of.
func (f Facts) stored() bool { return f.Stored && len(f.Stores) > 0 && len(f.Missing) == 0 }

// maxArtifacts is the most artifacts that are listed; an execution has three, and
// a job may have 500.
const maxArtifacts = 60

// artifactsJSON returns artifacts as a JSON list, the last ones when there are too
// many: those of the last execution.
func artifactsJSON(artifacts []Artifact) string {
	told := []Artifact{}
	for _, a := range artifacts[max(0, len(artifacts)-maxArtifacts):] {
		told = append(told, Artifact{leftOut(a.Name), a.ID})
	}
	data, err := json.Marshal(told)
	if err != nil {
		return "[]" // A text and a number always have a form.
	}
	return string(data)
}

// maxLost is the most records that are told of: where one store fails there are
// two for an execution, and what is said of them is much the same.
const maxLost = 4

// missing tells of the records that could not be stored.
func (r Report) missing() []block {
	rows := pairs{}
	for i, text := range r.Facts.Missing {
		if i == maxLost {
			rows.add("…", words("and "+count(len(r.Facts.Missing)-i)+" more"))
			break
		}
		rows.add(count(i+1), piece{text: text, limit: maxMissing, sentence: true})
	}
	if len(rows) == 0 {
		return nil
	}
	return []block{heading("Records that could not be stored"),
		paragraph{words("What is reported here stands. This is what a run again will find:")}, rows.table()}
}
