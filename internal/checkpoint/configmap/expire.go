package configmap

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

const (
	// skew is how much longer than it says a ConfigMap is kept: clocks differ.
	skew = time.Minute
	// maxPages and maxExpired bound what one run does about what others left.
	maxPages, maxExpired = 20, 200
)

// Expire removes the ConfigMaps of the CronJob's executions whose time is over, but
// for those that this Store read or wrote. One whose time cannot be told is left
// alone, and so is one that somebody writes to meanwhile. It is the server's time
// that counts: a clock here that is years ahead must not cost the records of all
// others, and as long as the server has shown no time nothing is removed. What goes
// wrong is only told: a later run comes by again.
func (s *Store) Expire(ctx context.Context) {
	removed, from := 0, ""
	for range maxPages {
		var page []contract.Object
		var next string
		err := s.begin(ctx).do(readTime, func(ctx context.Context) (err error) {
			page, next, err = s.API.ConfigMaps(ctx, s.Namespace, s.selector(), from)
			return err
		})
		if err != nil {
			s.kept(ctx, err)
			return
		}
		s.look(page)
		for _, object := range page {
			if !s.expired(object) {
				continue
			}
			if removed++; removed > maxExpired {
				return
			}
			if err := s.remove(ctx, object); err != nil {
				s.kept(ctx, err)
				return
			}
		}
		if from = next; from == "" {
			return
		}
	}
}

// kept tells why expired ConfigMaps stay. The end of the run is no news.
func (s *Store) kept(ctx context.Context, err error) {
	if ctx.Err() == nil {
		s.tell(fmt.Sprintf("ConfigMaps with expired records stay in namespace %s until a later run: %v", s.Namespace, err))
	}
}

// expired reports whether a ConfigMap is one of ours, of another execution, and its
// time is over.
func (s *Store) expired(object contract.Object) bool {
	metadata := under(object, "metadata")
	execution, named := strings.CutPrefix(metaText(object, "name"), namePrefix)
	text, _ := under(metadata, "annotations")[expiryAnnotation].(string)
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case !named, !ours(object), under(metadata, "labels")[cronJobLabel] != s.CronJob, ending(object), err != nil:
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// The server's time is this at least, and none when it has shown none.
	now := s.stamp.Add(time.Since(s.seen))
	return s.known[execution] == nil && !s.stamp.IsZero() && now.After(at.Add(skew))
}

// look learns the server's time from a list.
func (s *Store) look(page []contract.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, object := range page {
		s.learn(object)
	}
}

// learn learns what time it is for the server, at least, from when an object was
// created or changed. After a write that is the time of the write. It needs mu.
func (s *Store) learn(object contract.Object) {
	latest := metaText(object, "creationTimestamp")
	fields, _ := under(object, "metadata")["managedFields"].([]any)
	for _, field := range fields {
		entry, _ := field.(map[string]any)
		// They are all in UTC and of one form.
		// https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
		text, _ := entry["time"].(string)
		latest = max(latest, text)
	}
	at, err := time.Parse(time.RFC3339, latest)
	if err == nil && (s.stamp.IsZero() || at.After(s.stamp.Add(time.Since(s.seen)))) {
		s.stamp, s.seen = at, time.Now()
	}
}

// remove deletes a ConfigMap in the state that it was seen in.
func (s *Store) remove(ctx context.Context, object contract.Object) error {
	err := s.begin(ctx).do(writeTime, func(ctx context.Context) error {
		return s.API.DeleteConfigMap(ctx, s.Namespace, metaText(object, "name"), metaText(object, "uid"), metaText(object, "resourceVersion"))
	})
	switch kindOf(err) {
	case oneshot.NotFound, oneshot.Conflict:
		return nil
	}
	return err
}
