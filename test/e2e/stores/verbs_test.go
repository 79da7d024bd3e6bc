package stores

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

func configMap(name string) contract.Object {
	return contract.Object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{"test": name}},
		"data":     map[string]any{"a.json": "{\"ä\":\"<&>\u2028\"}\n"},
	}
}

func metadata(object contract.Object, key string) string {
	text, _ := object["metadata"].(map[string]any)[key].(string)
	return text
}

// TestVerbs: each call does what the API server says that it does.
func TestVerbs(t *testing.T) {
	t.Parallel()
	c := client(t, runner)
	ctx := t.Context()
	if _, err := c.ConfigMap(ctx, namespace, "verbs"); kind(err) != oneshot.NotFound {
		t.Errorf("get of none: %v", err)
	}
	created, err := c.CreateConfigMap(ctx, namespace, configMap("verbs"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateConfigMap(ctx, namespace, configMap("verbs")); kind(err) != oneshot.AlreadyExists {
		t.Errorf("create of one that is there: %v", err)
	}
	read, err := c.ConfigMap(ctx, namespace, "verbs")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(created, read); diff != "" {
		t.Errorf("what was created and what is read (-created +read)\n%s", diff)
	}
	if diff := cmp.Diff(configMap("verbs")["data"], read["data"]); diff != "" {
		t.Errorf("data (-sent +read)\n%s", diff)
	}

	stale := configMap("verbs")
	stale["metadata"].(map[string]any)["resourceVersion"] = metadata(created, "resourceVersion")
	read["data"] = map[string]any{"b.json": "2"}
	updated, err := c.UpdateConfigMap(ctx, namespace, read)
	if err != nil {
		t.Fatal(err)
	}
	if metadata(updated, "resourceVersion") == metadata(created, "resourceVersion") || fmt.Sprint(updated["data"]) != "map[b.json:2]" {
		t.Errorf("updated: %v", updated)
	}
	if _, err := c.UpdateConfigMap(ctx, namespace, stale); kind(err) != oneshot.Conflict || !strings.Contains(err.Error(), "the object has been modified") {
		t.Errorf("update of an old state: %v", err)
	}
	stale["metadata"].(map[string]any)["resourceVersion"] = metadata(updated, "resourceVersion")
	stale["metadata"].(map[string]any)["uid"] = "3b241101-e2bb-4255-8caf-4136c566a962"
	if _, err := c.UpdateConfigMap(ctx, namespace, stale); kind(err) != oneshot.Conflict {
		t.Errorf("update of another one: %v", err)
	}

	page, next, err := c.ConfigMaps(ctx, namespace, "test=verbs", "")
	if err != nil || next != "" || len(page) != 1 || metadata(page[0], "resourceVersion") != metadata(updated, "resourceVersion") || page[0]["data"] != nil {
		t.Errorf("list: %v, %q, %v", page, next, err)
	}
	if page, _, err := c.ConfigMaps(ctx, namespace, "test=nothing", ""); err != nil || len(page) != 0 {
		t.Errorf("list of nothing: %v, %v", page, err)
	}

	uid, version := metadata(updated, "uid"), metadata(updated, "resourceVersion")
	if err := c.DeleteConfigMap(ctx, namespace, "verbs", uid, metadata(created, "resourceVersion")); kind(err) != oneshot.Conflict {
		t.Errorf("delete of an old state: %v", err)
	}
	if err := c.DeleteConfigMap(ctx, namespace, "verbs", "3b241101-e2bb-4255-8caf-4136c566a962", version); kind(err) != oneshot.Conflict {
		t.Errorf("delete of another one: %v", err)
	}
	if err := c.DeleteConfigMap(ctx, namespace, "verbs", uid, version); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := c.DeleteConfigMap(ctx, namespace, "verbs", uid, version); kind(err) != oneshot.NotFound {
		t.Errorf("delete of none: %v", err)
	}
	if _, err := c.UpdateConfigMap(ctx, namespace, updated); kind(err) != oneshot.NotFound {
		t.Errorf("update of none: %v", err)
	}
}

// TestLimits: what the API server does not take has no effect, and says why.
func TestLimits(t *testing.T) {
	t.Parallel()
	c := client(t, runner)
	large := configMap("large")
	large["data"] = map[string]any{"a": strings.Repeat("x", 1<<20), "b": "y"}
	if _, err := c.CreateConfigMap(t.Context(), namespace, large); kind(err) != oneshot.Rejected || !strings.Contains(err.Error(), "may not be more than 1048576 bytes") {
		t.Errorf("one byte too many: %v", err)
	}
	large["data"] = map[string]any{"a": strings.Repeat("x", 1<<20)}
	if _, err := c.CreateConfigMap(t.Context(), namespace, large); err != nil {
		t.Errorf("as many bytes as can be: %v", err)
	}
	unknown := configMap("unknown")
	unknown["datum"] = "x"
	if _, err := c.CreateConfigMap(t.Context(), namespace, unknown); kind(err) != oneshot.Rejected || !strings.Contains(err.Error(), `unknown field "datum"`) {
		t.Errorf("an unknown field: %v", err)
	}
	admin := client(t, "admin")
	if _, err := admin.CreateConfigMap(t.Context(), "nowhere", contract.Object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x", "namespace": "nowhere"},
	}); kind(err) != oneshot.NotFound || !strings.Contains(err.Error(), `namespaces "nowhere" not found`) {
		t.Errorf("no namespace: %v", err)
	}
}

// TestPages: a real list goes on where the page before ended.
func TestPages(t *testing.T) {
	t.Parallel()
	const all = 620
	var manifests strings.Builder
	for i := range all {
		_, _ = fmt.Fprintf(&manifests, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: page-%03d, namespace: %s, labels: {test: pages}}\n", i, namespace)
	}
	if _, err := control.Kubectl(t.Context(), strings.NewReader(manifests.String()), "create", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	c := client(t, runner)
	seen := map[string]bool{}
	pages := 0
	for from, more := "", true; more; more = from != "" {
		page, next, err := c.ConfigMaps(t.Context(), namespace, "test=pages", from)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range page {
			seen[metadata(object, "name")] = true
		}
		pages++
		from = next
	}
	if len(seen) != all || pages != 2 {
		t.Errorf("%d objects on %d pages", len(seen), pages)
	}
	if _, _, err := c.ConfigMaps(t.Context(), namespace, "test=pages", "none"); kind(err) != oneshot.Rejected {
		t.Errorf("a page of no list: %v", err)
	}
}

// TestDeniedVerbs: whoever lacks a verb is told which, and may do all else.
func TestDeniedVerbs(t *testing.T) {
	t.Parallel()
	for _, missing := range verbs {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			name := "denied-" + missing
			present, err := client(t, runner).CreateConfigMap(t.Context(), namespace, configMap(name))
			if err != nil {
				t.Fatal(err)
			}
			c := client(t, without(missing))
			for verb, call := range map[string]func() error{
				"get":    func() error { _, err := c.ConfigMap(t.Context(), namespace, name); return err },
				"list":   func() error { _, _, err := c.ConfigMaps(t.Context(), namespace, "test="+name, ""); return err },
				"create": func() error { _, err := c.CreateConfigMap(t.Context(), namespace, configMap(name)); return err },
				"update": func() error { _, err := c.UpdateConfigMap(t.Context(), namespace, present); return err },
				"delete": func() error { return c.DeleteConfigMap(t.Context(), namespace, name, metadata(present, "uid"), "1") },
			} {
				err := call()
				if (kind(err) == oneshot.Denied) != (verb == missing) {
					t.Errorf("%s: %v", verb, err)
				}
				if want := fmt.Sprintf(`User %q cannot %s resource "configmaps"`, without(missing), verb); verb == missing && !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}
