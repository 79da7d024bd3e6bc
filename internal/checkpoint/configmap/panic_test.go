package configmap

import (
	"context"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

type panicking struct{ API }

func (panicking) ConfigMaps(context.Context, string, string, string) ([]contract.Object, string, error) {
	panic("a list that nobody expected")
}

// The list is made in a goroutine of the store's own, where a panic would end the
// process. It says nothing then, and a Read asks for itself.
func TestTheListPanics(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, s *scene) {
		s.write(intent("a")...)
		other := s.another(func(o *Options) { o.API = panicking{o.API} })
		s.requests()
		if n := len(s.read(other)); n != 2 {
			s.t.Errorf("%d documents", n)
		}
		s.asked("get")
	})
}
