package oneshot

// alongside runs f while its caller goes on with something else; wait returns
// f's error once it is done. A panic of f is raised by wait, in the caller, who
// has people to tell about it: a goroutine of its own would end the process with
// the exit status of bad input.
func alongside(f func() error) (wait func() error) {
	done := make(chan func() error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- func() error { panic(p) }
			}
		}()
		err := f()
		done <- func() error { return err }
	}()
	return func() error { return (<-done)() }
}
