// Command workload is the program that runs in the pods of a test cluster. Its
// image has nothing else in it, and nothing it does depends on the outside.
//
// The arguments are steps, done in order; a step ends at an argument that is
// "--" or ";". The exit status is 0 after the last step, unless a step ends the
// program:
//
//	exit N                     end with status N
//	sleep DURATION             wait (5s, 200ms, …)
//	print TEXT...              one line on standard output
//	warn TEXT...               one line on standard error
//	lines N BYTES [RATE]       N lines of BYTES bytes in all (without the newline), at most RATE lines a second;
//	                           a line is its number, from 1, and a filling that depends on nothing but the number
//	env NAME                   print NAME=value, or "NAME is not set"
//	id                         print uid=… gid=…
//	args                       print what follows up to the end of the step as a JSON list
//	oom                        take memory until the kernel ends the program
//	signal-wait [N]            wait for SIGTERM, print that it came, end with status N (0)
//	ignore-term                do not end on SIGTERM from here on
//	write PATH TEXT...         add one line to a file
//	cat PATH                   print a file
//	fail-until N PATH          add one line to the file at PATH; end with status 1 unless it now has N lines or more
//
// For example: print start -- sleep 2s -- exit 3
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// status ends the program with an exit status of its own choice.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func main() {
	err := run(os.Args[1:])
	var s status
	switch {
	case errors.As(err, &s):
		os.Exit(int(s))
	case err != nil:
		fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(125) // a mistake in the arguments must not look like an asked-for status
	}
}

func run(args []string) error {
	for _, s := range steps(args) {
		if err := step(s[0], s[1:]); err != nil {
			return err
		}
	}
	return nil
}

// steps cuts the arguments at the separators and leaves out empty steps.
func steps(args []string) [][]string {
	var all [][]string
	var one []string
	for _, a := range append(args, "--") {
		if a != "--" && a != ";" {
			one = append(one, a)
		} else if len(one) > 0 {
			all, one = append(all, one), nil
		}
	}
	return all
}

func step(name string, args []string) error {
	do, ok := commands[name]
	if !ok {
		return fmt.Errorf("unknown step %q", name)
	}
	if len(args) < do.least {
		return fmt.Errorf("step %s needs %d arguments and has %d", name, do.least, len(args))
	}
	return do.run(args)
}

var commands = map[string]struct {
	least int
	run   func([]string) error
}{
	"exit":        {1, exit},
	"sleep":       {1, sleep},
	"print":       {0, func(a []string) error { _, err := fmt.Println(strings.Join(a, " ")); return err }},
	"warn":        {0, func(a []string) error { _, err := fmt.Fprintln(os.Stderr, strings.Join(a, " ")); return err }},
	"lines":       {2, lines},
	"env":         {1, env},
	"id":          {0, id},
	"args":        {0, func(a []string) error { return json.NewEncoder(os.Stdout).Encode(a) }},
	"oom":         {0, oom},
	"signal-wait": {0, signalWait},
	"ignore-term": {0, func([]string) error { signal.Ignore(syscall.SIGTERM); return nil }},
	"write":       {2, func(a []string) error { return appendLine(a[0], strings.Join(a[1:], " ")) }},
	"cat":         {1, cat},
	"fail-until":  {2, failUntil},
}

func exit(a []string) error {
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return fmt.Errorf("exit: %w", err)
	}
	return status(n)
}

func sleep(a []string) error {
	d, err := time.ParseDuration(a[0])
	if err != nil {
		return fmt.Errorf("sleep: %w", err)
	}
	time.Sleep(d)
	return nil
}

func lines(a []string) error {
	n, err1 := strconv.Atoi(a[0])
	size, err2 := strconv.Atoi(a[1])
	var rate int
	var err3 error
	if len(a) > 2 {
		rate, err3 = strconv.Atoi(a[2])
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("lines: %w", err)
	}
	out := bufio.NewWriter(os.Stdout)
	start := time.Now()
	for i := 1; i <= n; i++ {
		_, _ = out.WriteString(line(i, size) + "\n") // Flush has the error
		if rate > 0 {                                // a slow stream must be seen line by line
			_ = out.Flush()
			time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		}
	}
	return out.Flush()
}

// line is the number padded to eight digits, a space, and letters up to size.
func line(i, size int) string {
	b := []byte(fmt.Sprintf("%08d ", i))
	for len(b) < size {
		b = append(b, byte('a'+(i+len(b))%26))
	}
	return string(b)
}

func env(a []string) error {
	if v, ok := os.LookupEnv(a[0]); ok {
		_, err := fmt.Println(a[0] + "=" + v)
		return err
	}
	_, err := fmt.Println(a[0] + " is not set")
	return err
}

func oom([]string) error {
	for hold := [][]byte{}; ; {
		b := make([]byte, 8<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1 // a page counts only once it is written to
		}
		hold = append(hold, b)
		time.Sleep(time.Duration(len(hold)) * time.Microsecond) // in some hundred milliseconds, not at once
	}
}

func signalWait(a []string) error {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	fmt.Println("waiting for SIGTERM")
	<-c
	fmt.Println("SIGTERM came")
	if len(a) > 0 {
		return exit(a)
	}
	return status(0)
}

func appendLine(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text + "\n")
	return errors.Join(err, f.Close())
}

func cat(a []string) error {
	b, err := os.ReadFile(a[0])
	os.Stdout.Write(b)
	return err
}

func failUntil(a []string) error {
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return fmt.Errorf("fail-until: %w", err)
	}
	if err := appendLine(a[1], "tried"); err != nil {
		return err
	}
	b, err := os.ReadFile(a[1])
	if err != nil {
		return err
	}
	tries := strings.Count(string(b), "\n")
	fmt.Printf("try %d of %d\n", tries, n)
	if tries < n {
		return status(1)
	}
	return nil
}

func id([]string) error {
	_, err := fmt.Printf("uid=%d gid=%d\n", os.Getuid(), os.Getgid())
	return err
}
