package configmap

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// expiring puts a ConfigMap there that expires some time from now.
func (s *scene) expiring(execution string, in time.Duration, edit func(contract.Object)) {
	s.change(execution, func(o contract.Object) {
		s.store.mark(o)
		under(under(o, "metadata"), "annotations")[expiryAnnotation] = time.Now().Add(in).Format(time.RFC3339)
		if edit != nil {
			edit(o)
		}
	})
}

// left returns the executions whose ConfigMaps are there.
func (s *scene) left() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.objects {
		names = append(names, strings.TrimPrefix(name, namePrefix))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestWhatExpires(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.pageSize = 3
		s.expiring("long-gone", -240*time.Hour, nil)
		s.expiring("gone", -61*time.Second, nil)
		s.expiring("zoned", time.Hour, func(o contract.Object) {
			under(under(o, "metadata"), "annotations")[expiryAnnotation] = time.Now().Add(-2 * time.Minute).In(time.FixedZone("", 7200)).Format(time.RFC3339)
		})
		keeps := map[string]func(contract.Object){
			"broken":     func(o contract.Object) { under(under(o, "metadata"), "annotations")[expiryAnnotation] = "1999-01-01" },
			"number":     func(o contract.Object) { under(under(o, "metadata"), "annotations")[expiryAnnotation] = "0" },
			"unexpiring": func(o contract.Object) { delete(under(under(o, "metadata"), "annotations"), expiryAnnotation) },
			"theirs":     func(o contract.Object) { under(under(o, "metadata"), "labels")[managedByLabel] = "helm" },
			"bare":       func(o contract.Object) { delete(under(o, "metadata"), "labels") },
			"other-job":  func(o contract.Object) { under(under(o, "metadata"), "labels")[cronJobLabel] = "other" },
			"ending":     func(o contract.Object) { under(o, "metadata")["deletionTimestamp"] = "2000-01-01T00:00:00Z" },
			"read":       nil, "written": nil,
		}
		for name, edit := range keeps {
			s.expiring(name, -time.Hour, edit)
		}
		s.expiring("just-gone", -59*time.Second, nil)
		s.expiring("fresh", time.Hour, nil)
		if _, err := s.store.Read(t.Context(), "read"); err != nil {
			t.Fatal(err)
		}
		s.read(s.store)
		s.write(intent("a")...)
		// One of another name is none of ours, whatever its labels say.
		s.mu.Lock()
		s.objects["stranger"] = s.objects[nameOf("gone")]
		s.mu.Unlock()
		// It is this run's from the moment that it is written to.
		s.fault = always("create", plainly(rejected))
		_ = s.store.Write(t.Context(), "written", intent("a")...)
		s.fault = nil
		s.requests()
		s.unselective = true
		s.store.Expire(t.Context())
		if diff := cmp.Diff("bare broken ending "+testExecution+" fresh just-gone number other-job read stranger theirs unexpiring written", s.left()); diff != "" {
			t.Errorf("left (-want +have)\n%s", diff)
		}
		if len(s.told) > 0 {
			t.Errorf("told: %q", s.told)
		}
		// That it is listed page by page takes no more than it has to.
		for _, verb := range s.requests() {
			if verb != "list" && verb != "delete" {
				t.Errorf("a %s", verb)
			}
		}
	})
}

// Somebody resumes an execution as it is being removed.
func TestExpiryGivesWay(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.expiring("resumed", -time.Hour, nil)
		s.expiring("removed", -time.Hour, nil)
		s.expiring("wanted", -time.Hour, nil)
		s.fault = func(_ context.Context, _ int, verb string) fault {
			if verb == "delete" {
				s.expiring("resumed", time.Hour, nil)
				s.remove("removed")
			}
			return fault{}
		}
		s.store.Expire(t.Context())
		if left := s.left(); left != "resumed" || len(s.told) > 0 {
			t.Errorf("left: %s, told: %q", left, s.told)
		}
	})
}

// What goes wrong is told, once, and is no failure.
func TestExpiryFails(t *testing.T) {
	t.Parallel()
	for verb, name := range map[string]string{"list": "denied", "delete": "denied"} {
		t.Run(verb+" "+name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *scene) {
				for i := range 3 {
					s.expiring(fmt.Sprint("gone-", i), -time.Hour, nil)
				}
				s.fault = always(verb, plainly(denied))
				s.store.Expire(t.Context())
				s.store.Expire(t.Context())
				if len(s.told) != 1 || !strings.Contains(s.told[0], "stay in namespace fdai-runtime") || !strings.Contains(s.told[0], "cannot "+verb) {
					t.Errorf("told: %q", s.told)
				}
			})
		})
	}
	bubble(t, func(t *testing.T, s *scene) {
		s.expiring("gone", -time.Hour, nil)
		s.fault = always("delete", hang)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.store.Expire(ctx)
		if len(s.told) > 0 || s.left() != "gone" {
			t.Errorf("told: %q, left: %s", s.told, s.left())
		}
	})
}

// One run does not spend its time on what a year of others left.
func TestExpiryIsBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		for i := range maxExpired + 50 {
			s.expiring(fmt.Sprintf("gone-%03d", i), -time.Hour, nil)
		}
		s.store.Expire(t.Context())
		if n := len(strings.Fields(s.left())); n != 50 {
			t.Errorf("%d are left", n)
		}
		s.store.Expire(t.Context())
		if left := s.left(); left != "" {
			t.Errorf("left: %s", left)
		}
	})
}

// A clock that is far ahead of the server's must not cost the records of others.
func TestExpiryWithAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	for _, does := range []string{"creates", "updates", "reads"} {
		bubble(t, func(t *testing.T, s *scene) {
			s.expiring("fresh", time.Hour, nil)
			s.expiring("gone", -time.Hour, nil)
			store := s.another(func(o *Options) { o.Now = func() time.Time { return time.Now().Add(100 * 24 * time.Hour) } })
			var err error
			switch does {
			case "creates":
				err = store.Write(t.Context(), testExecution, intent("a")...)
			case "updates":
				s.write(intent("a")...)
				time.Sleep(30 * time.Second)
				err = store.Write(t.Context(), testExecution, document(checkpoint.Dispatched, "a"))
			case "reads":
				// A run that resumes and finds everything recorded.
				s.write(intent("a")...)
				_, err = store.Read(t.Context(), testExecution)
			}
			if err != nil {
				t.Fatal(err)
			}
			store.Expire(t.Context())
			if left := s.left(); left != testExecution+" fresh" {
				t.Errorf("after a run that %s, left: %s", does, left)
			}
		})
	}
}

// Where the server shows no time, nothing is known to have expired, whatever the
// clock here says. What it shows becomes older as time goes on.
func TestExpiryWithoutTheServersTime(t *testing.T) {
	t.Parallel()
	untimed := func(o contract.Object) { delete(under(o, "metadata"), "managedFields") }
	bubble(t, func(t *testing.T, s *scene) {
		s.expiring("gone", -time.Hour, untimed)
		s.expiring("soon-gone", time.Hour, untimed)
		s.expiring("broken", -time.Hour, func(o contract.Object) { untimed(o); under(o, "metadata")["creationTimestamp"] = "yesterday" })
		s.expiring("ancient", 0, func(o contract.Object) {
			untimed(o)
			under(under(o, "metadata"), "annotations")[expiryAnnotation] = "0001-01-01T00:00:00Z"
		})
		s.store.Expire(t.Context())
		if left := s.left(); left != "ancient broken gone soon-gone" {
			t.Errorf("left: %s", left)
		}
		s.write(intent("a")...)
		time.Sleep(30 * time.Minute)
		s.store.Expire(t.Context())
		if left := s.left(); left != testExecution+" soon-gone" {
			t.Errorf("after a write, left: %s", left)
		}
		time.Sleep(32 * time.Minute)
		s.store.Expire(t.Context())
		if left := s.left(); left != testExecution {
			t.Errorf("an hour later, left: %s", left)
		}
	})
}
