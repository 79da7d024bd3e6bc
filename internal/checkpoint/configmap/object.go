package configmap

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// The labels and annotations of a ConfigMap.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/
const (
	managedByLabel = "app.kubernetes.io/managed-by"
	componentLabel = "app.kubernetes.io/component"
	cronJobLabel   = "aks-oneshot/cronjob"
	purposeLabel   = "aks-oneshot/purpose"

	managedBy = "aks-oneshot"
	component = "checkpoint"

	// These annotations are those of whoever wrote last.
	expiryAnnotation  = "aks-oneshot/expires-at"
	attemptAnnotation = "aks-oneshot/attempt"
	runAnnotation     = "aks-oneshot/run"
	commitAnnotation  = "aks-oneshot/source-commit"

	// storedByPrefix is that of the annotations that say for each step which run has
	// stored it.
	storedByPrefix = "aks-oneshot/stored-by."
	// attempts comes before the attempt in the address of a run.
	attempts = "/attempts/"
)

const (
	namePrefix = "aks-oneshot-"
	dataSuffix = ".json"
	sealSuffix = ".seal"
)

// nameOf returns the name of an execution's ConfigMap.
func nameOf(execution string) string { return namePrefix + execution }

// where names an execution's ConfigMap for people.
func (s *Store) where(execution string) string {
	return "ConfigMap " + s.Namespace + "/" + nameOf(execution)
}

// selector selects the ConfigMaps of all executions of the CronJob, whatever their
// purpose: those of an execution's successors have their own.
func (s *Store) selector() string {
	return managedByLabel + "=" + managedBy + "," + componentLabel + "=" + component + "," + cronJobLabel + "=" + s.CronJob
}

// blank returns a ConfigMap of an execution, with nothing in it.
func (s *Store) blank(execution string) contract.Object {
	object := contract.Object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": nameOf(execution), "namespace": s.Namespace},
	}
	s.mark(object)
	return object
}

// mark gives a ConfigMap the labels that it lacks, and the annotations of a write
// that is made now.
func (s *Store) mark(object contract.Object) {
	metadata := member(object, "metadata")
	labels := member(metadata, "labels")
	for key, value := range map[string]string{managedByLabel: managedBy, componentLabel: component, cronJobLabel: s.CronJob, purposeLabel: s.Purpose} {
		if _, ok := labels[key]; !ok && value != "" {
			labels[key] = value
		}
	}
	annotations := member(metadata, "annotations")
	annotations[expiryAnnotation] = s.Now().Add(s.Retention).UTC().Format(time.RFC3339)
	attempt := ""
	if s.Attempt > 0 {
		attempt = strconv.Itoa(s.Attempt)
	}
	for key, value := range map[string]string{attemptAnnotation: attempt, runAnnotation: s.Run, commitAnnotation: s.SourceCommit} {
		// What the last writer said is not true of this one.
		delete(annotations, key)
		if value != "" {
			annotations[key] = value
		}
	}
}

// ours reports whether a ConfigMap is one that this package made. What others add
// to it makes no difference.
func ours(object contract.Object) bool {
	labels := under(under(object, "metadata"), "labels")
	return labels[managedByLabel] == managedBy && labels[componentLabel] == component
}

// documentOf returns the document of a step, and whether anything is there for it.
// What is there and is no text is a document with a reason why it cannot be read.
func documentOf(object contract.Object, step checkpoint.Step) (d checkpoint.Document, found bool, unreadable string) {
	d.Step = step
	key := string(step) + dataSuffix
	if _, ok := under(object, "binaryData")[key]; ok {
		return d, true, key + " is kept as binary data, which this program never does"
	}
	value, ok := under(object, "data")[key]
	if !ok {
		return d, false, ""
	}
	text, ok := value.(string)
	if !ok {
		return d, true, key + " is no text"
	}
	d.Data = []byte(text)
	if d.Seal, ok = under(object, "data")[string(step)+sealSuffix].(string); !ok {
		d.Seal = ""
	}
	return d, true, ""
}

// set puts a document into a ConfigMap, and says whose it is. That of another with
// the same content stays the other's.
func (s *Store) set(object contract.Object, d checkpoint.Document) {
	_, found, _ := documentOf(object, d.Step)
	if annotations := member(member(object, "metadata"), "annotations"); !found {
		delete(annotations, storedByPrefix+string(d.Step))
		if s.Run != "" {
			annotations[storedByPrefix+string(d.Step)] = s.Run
		}
	}
	data := member(object, "data")
	data[string(d.Step)+dataSuffix] = string(d.Data)
	if d.Seal != "" {
		data[string(d.Step)+sealSuffix] = d.Seal
	}
}

// sizeOf is how many bytes of data a ConfigMap has, as the API server counts them
// but for the padding of binary data.
func sizeOf(object contract.Object) int {
	size := 0
	for _, value := range under(object, "data") {
		text, _ := value.(string)
		size += len(text)
	}
	for _, value := range under(object, "binaryData") {
		text, _ := value.(string)
		size += len(text) / 4 * 3
	}
	return size
}

// attemptOf is the attempt of this workflow run that has stored a step, 0 when it
// was another run, or is not known.
func (s *Store) attemptOf(object contract.Object, step checkpoint.Step) int {
	ours, _, known := strings.Cut(s.Run, attempts)
	text, _ := under(under(object, "metadata"), "annotations")[storedByPrefix+string(step)].(string)
	theirs, number, _ := strings.Cut(text, attempts)
	attempt, err := strconv.Atoi(number)
	if !known || theirs != ours || err != nil || attempt < 1 {
		return 0
	}
	return attempt
}

// ending says that a ConfigMap is being deleted.
func ending(object contract.Object) bool { return metaText(object, "deletionTimestamp") != "" }

// under returns the object at a key, nil when there is none.
func under(object map[string]any, key string) map[string]any {
	child, _ := object[key].(map[string]any)
	return child
}

// member returns the object at a key, which is made if there is none.
func member(object map[string]any, key string) map[string]any {
	child := under(object, key)
	if child == nil {
		child = map[string]any{}
		object[key] = child
	}
	return child
}

// copied returns a ConfigMap that can be changed without changing the other, to be
// sent back. Who manages which field is for the server to keep.
func copied(object contract.Object) contract.Object {
	out := maps.Clone(object)
	for _, key := range []string{"metadata", "data"} {
		out[key] = maps.Clone(under(object, key))
		if under(out, key) == nil {
			out[key] = map[string]any{}
		}
	}
	metadata := under(out, "metadata")
	for _, key := range []string{"labels", "annotations"} {
		metadata[key] = maps.Clone(under(metadata, key))
		if under(metadata, key) == nil {
			metadata[key] = map[string]any{}
		}
	}
	delete(metadata, "managedFields")
	return out
}
