package github

import (
	"fmt"
	"os"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/host"
)

// maxSummary is the most bytes of a summary file that GitHub shows; of a longer
// one it shows nothing (GitHub docs, "Step isolation and limits").
const maxSummary = 1 << 20

// Output implements [host.Host]. It writes to the file that GITHUB_OUTPUT
// names; without one, the output is shown in the log and not handed on.
func (h *Host) Output(name, value string) error {
	if err := host.CheckOutput(name); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	value = strings.ToValidUTF8(h.masks.Hide(value), "\uFFFD")
	path := h.getenv("GITHUB_OUTPUT")
	if path == "" {
		h.without("GITHUB_OUTPUT", "outputs are shown in the log only and reach no later step")
		h.log(name + "=" + value)
		return nil
	}
	delimiter := h.delimiter(value)
	record := name + "<<" + delimiter + "\n" + value + "\n" + delimiter + "\n"
	if err := add(path, func(int64) (string, error) { return record, nil }); err != nil {
		return fmt.Errorf("could not set output %s in the file of GITHUB_OUTPUT: %w", name, err)
	}
	return nil
}

// delimiter returns a line that is not in the value and could not be put there
// by whoever made it.
func (h *Host) delimiter(value string) string {
	for {
		if d := "end-" + h.random(); !strings.Contains(value, d) {
			return d
		}
	}
}

// Summary implements [host.Host]. It adds to the file that
// GITHUB_STEP_SUMMARY names, and shortens the report where the file would grow
// past what GitHub shows. Without a file the report is printed.
func (h *Host) Summary(report host.Report) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	path := h.getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		h.without("GITHUB_STEP_SUMMARY", "the summary is shown in the log only")
		h.action.Group("Summary")
		h.log(report.Plain())
		h.action.EndGroup()
		return nil
	}
	markdown := strings.ToValidUTF8(h.masks.Hide(report.Markdown()), "\uFFFD")
	err := add(path, func(size int64) (string, error) {
		if size > 0 {
			markdown = "\n" + markdown // A block of its own, whatever came before.
		}
		return shorten(markdown, maxSummary-size)
	})
	if err != nil {
		return fmt.Errorf("could not write the summary to the file of GITHUB_STEP_SUMMARY: %w", err)
	}
	return nil
}

// without tells once that the runner named no file.
func (h *Host) without(variable, consequence string) {
	if h.warned[variable] {
		return
	}
	h.warned[variable] = true
	h.warning("", variable+" is not set: "+consequence+".")
}

// add appends to a file what text returns, given the size the file has before.
// The runner reads the file when the step ends and gives up on one whose last
// record is cut off, so either all of it is added or nothing.
func add(path string, text func(size int64) (string, error)) (err error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); e != nil && err == nil {
			err = e
		}
	}()
	size, lead, err := end(f)
	if err != nil {
		return err
	}
	content, err := text(size + int64(len(lead)))
	if err != nil {
		return err
	}
	if _, err := f.WriteString(lead + content); err != nil {
		_ = f.Truncate(size) // The error of the write says more.
		return err
	}
	return nil
}

// end returns the size of a file, and a newline where its last line has none.
func end(f *os.File) (size int64, lead string, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, "", err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return 0, "", nil
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil {
		return 0, "", err
	}
	if last[0] != '\n' {
		lead = "\n"
	}
	return info.Size(), lead, nil
}
