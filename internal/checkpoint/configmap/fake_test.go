package configmap

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// fake is an API server's ConfigMaps, with its rules for uids, resourceVersions and
// sizes, that misbehaves where a test says so.
type fake struct {
	t testing.TB

	mu      sync.Mutex
	objects map[string]json.RawMessage
	version int
	calls   []string

	// fault is asked for each call, with its number from 1 on; nil is none. faulty
	// counts the calls that it was asked for.
	fault  func(ctx context.Context, n int, verb string) fault
	faulty int
	// admit changes what is created or updated before it is stored.
	admit func(verb string, object contract.Object)
	// pageSize is that of lists; 0 is all. unselective ones have what was not asked
	// for too.
	pageSize    int
	unselective bool
}

// fault is how a call goes wrong: err instead of an answer, before the call takes
// effect, or after.
type fault struct {
	err   error
	after bool
}

func newFake(t testing.TB) *fake {
	return &fake{t: t, objects: map[string]json.RawMessage{}}
}

// call does what all calls have in common.
func (f *fake) call(ctx context.Context, verb string, effect func() (contract.Object, error)) (contract.Object, error) {
	f.mu.Lock()
	f.calls = append(f.calls, verb)
	misbehave := f.fault
	if misbehave != nil {
		f.faulty++
	}
	n := f.faulty
	f.mu.Unlock()
	wrong := fault{}
	if misbehave != nil {
		wrong = misbehave(ctx, n, verb)
	}
	if wrong.err != nil && !wrong.after {
		return nil, wrong.err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("could not %s configmaps: %w", verb, context.Cause(ctx))
	}
	f.mu.Lock()
	object, err := effect()
	f.mu.Unlock()
	if wrong.err != nil {
		return nil, wrong.err
	}
	return object, err
}

func (f *fake) ConfigMap(ctx context.Context, namespace, name string) (contract.Object, error) {
	return f.call(ctx, "get", func() (contract.Object, error) {
		f.check(namespace)
		return f.load("get", name)
	})
}

func (f *fake) ConfigMaps(ctx context.Context, namespace, labelSelector, from string) (page []contract.Object, next string, err error) {
	_, err = f.call(ctx, "list", func() (contract.Object, error) {
		f.check(namespace)
		for _, name := range slices.Sorted(maps.Keys(f.objects)) {
			object, err := f.load("list", name)
			if err != nil {
				return nil, err
			}
			if name <= from || !f.unselective && !selected(object, labelSelector) {
				continue
			}
			if f.pageSize > 0 && len(page) == f.pageSize {
				next = metaText(page[len(page)-1], "name")
				break
			}
			delete(object, "data")
			delete(object, "binaryData")
			page = append(page, object)
		}
		return nil, nil
	})
	if err != nil {
		return nil, "", err
	}
	return page, next, nil
}

func selected(object contract.Object, selector string) bool {
	for part := range strings.SplitSeq(selector, ",") {
		key, value, _ := strings.Cut(part, "=")
		if under(under(object, "metadata"), "labels")[key] != value {
			return false
		}
	}
	return true
}

func (f *fake) CreateConfigMap(ctx context.Context, namespace string, object contract.Object) (contract.Object, error) {
	return f.call(ctx, "create", func() (contract.Object, error) {
		f.check(namespace)
		name := metaText(object, "name")
		if f.objects[name] != nil {
			return nil, callError("create", name, oneshot.AlreadyExists, http.StatusConflict, "AlreadyExists", fmt.Sprintf("configmaps %q already exists", name))
		}
		f.version++
		object = f.parse(f.marshal(object))
		metadata := member(object, "metadata")
		metadata["uid"], metadata["creationTimestamp"] = "uid-"+strconv.Itoa(f.version), time.Now().UTC().Format(time.RFC3339)
		return f.store("create", object)
	})
}

func (f *fake) UpdateConfigMap(ctx context.Context, namespace string, object contract.Object) (contract.Object, error) {
	return f.call(ctx, "update", func() (contract.Object, error) {
		f.check(namespace)
		name := metaText(object, "name")
		present, err := f.load("update", name)
		if err != nil {
			return nil, err
		}
		for _, key := range []string{"uid", "resourceVersion"} {
			if metaText(object, key) == "" {
				f.t.Errorf("update without %s", key)
			}
			if metaText(object, key) != metaText(present, key) {
				return nil, callError("update", name, oneshot.Conflict, http.StatusConflict, "Conflict", "the object has been modified")
			}
		}
		return f.store("update", f.parse(f.marshal(object)))
	})
}

func (f *fake) DeleteConfigMap(ctx context.Context, namespace, name, uid, resourceVersion string) error {
	_, err := f.call(ctx, "delete", func() (contract.Object, error) {
		f.check(namespace)
		present, err := f.load("delete", name)
		if err != nil {
			return nil, err
		}
		if metaText(present, "uid") != uid || metaText(present, "resourceVersion") != resourceVersion {
			return nil, callError("delete", name, oneshot.Conflict, http.StatusConflict, "Conflict", "the preconditions failed")
		}
		delete(f.objects, name)
		return nil, nil
	})
	return err
}

func (f *fake) check(namespace string) {
	if namespace != testNamespace {
		f.t.Errorf("a call in namespace %q", namespace)
	}
}

func (f *fake) load(verb, name string) (contract.Object, error) {
	raw := f.objects[name]
	if raw == nil {
		return nil, callError(verb, name, oneshot.NotFound, http.StatusNotFound, "NotFound", fmt.Sprintf("configmaps %q not found", name))
	}
	return f.parse(raw), nil
}

// store stores an object as the server would: with a new version, and within limits.
func (f *fake) store(verb string, object contract.Object) (contract.Object, error) {
	if f.admit != nil {
		f.admit(verb, object)
	}
	name := metaText(object, "name")
	size := 0
	for key, value := range under(object, "data") {
		text, ok := value.(string)
		if !ok {
			return nil, callError(verb, name, oneshot.Rejected, http.StatusBadRequest, "BadRequest", key+" is no text")
		}
		size += len(text)
	}
	if size > 1<<20 {
		return nil, callError(verb, name, oneshot.Rejected, http.StatusUnprocessableEntity, "Invalid", "Too long: may not be more than 1048576 bytes")
	}
	f.keeps(name, object)
	f.version++
	metadata := member(object, "metadata")
	metadata["resourceVersion"] = strconv.Itoa(f.version)
	metadata["managedFields"] = managedNow()
	f.objects[name] = f.marshal(object)
	return f.parse(f.objects[name]), nil
}

// managedNow is what the server notes of a change that it takes.
func managedNow() []any {
	return []any{map[string]any{"manager": "aks-oneshot", "time": time.Now().UTC().Format(time.RFC3339)}}
}

// keeps checks that a write leaves all that is there as it is, but for signatures
// and annotations.
func (f *fake) keeps(name string, object contract.Object) {
	if f.objects[name] == nil || f.admit != nil {
		return
	}
	present := f.parse(f.objects[name])
	for key, value := range under(present, "data") {
		if !strings.HasSuffix(key, sealSuffix) && under(object, "data")[key] != value {
			f.t.Errorf("%s was %q and became %q", key, value, under(object, "data")[key])
		}
	}
	for key, value := range under(under(present, "metadata"), "labels") {
		if under(under(object, "metadata"), "labels")[key] != value {
			f.t.Errorf("the label %s was %q and is lost", key, value)
		}
	}
}

func (f *fake) marshal(object contract.Object) json.RawMessage {
	data, err := contract.Canonical(object)
	if err != nil {
		f.t.Error(err)
	}
	return data
}

func (f *fake) parse(data json.RawMessage) contract.Object {
	object, err := contract.ParseObject(data)
	if err != nil {
		f.t.Error(err)
	}
	return object
}

// object is the ConfigMap of an execution as it is stored, nil when there is none.
func (f *fake) object(execution string) contract.Object {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw := f.objects[nameOf(execution)]
	if raw == nil {
		return nil
	}
	return f.parse(raw)
}

// change is what somebody else does to the ConfigMap of an execution.
func (f *fake) change(execution string, edit func(contract.Object)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	object := contract.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": nameOf(execution), "namespace": testNamespace, "uid": "uid-of-others"}}
	if raw := f.objects[nameOf(execution)]; raw != nil {
		object = f.parse(raw)
	}
	member(object, "metadata")["managedFields"] = managedNow()
	edit(object)
	f.version++
	member(object, "metadata")["resourceVersion"] = strconv.Itoa(f.version)
	f.objects[nameOf(execution)] = f.marshal(object)
}

// remove is somebody else deleting the ConfigMap of an execution.
func (f *fake) remove(execution string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.objects, nameOf(execution))
}

// requests returns the verbs that were called since the last time.
func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}
