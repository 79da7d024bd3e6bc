package azure

import "fmt"

// mask has a credential hidden, before it is first used. Nobody goes on with one
// that somebody else is still masking.
func (l *login) mask(secret string) {
	l.masking.Lock()
	defer l.masking.Unlock()
	if len(l.secrets.Add(secret)) > 0 && l.options.Mask != nil {
		l.options.Mask(secret)
	}
}

// tell tells people something, once.
func (l *login) tell(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.mu.Lock()
	known := l.told[text]
	l.told[text] = true
	l.mu.Unlock()
	if !known {
		l.report(text)
	}
}

// report tells people something that may be said before: of what goes and comes.
func (l *login) report(text string) {
	if l.options.Notify != nil {
		l.options.Notify(text)
	}
}
