package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// buildMeasure builds the program that measures the memory of others.
func buildMeasure(ctx context.Context, folder string) (string, error) {
	program := filepath.Join(folder, "measure")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", program,
		"github.com/aks-oneshot/aks-oneshot/test/e2e/cmd/bench/measure")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("could not build measure: %w\n%s", err, out)
	}
	return program, nil
}

// readPeak returns the peak memory that measure wrote down, in bytes.
func readPeak(path string) (float64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var peak, floor float64
	if _, err := fmt.Sscan(string(b), &peak, &floor); err != nil {
		return 0, fmt.Errorf("reading a measured peak: %w", err)
	}
	if peak <= floor {
		return 0, fmt.Errorf("a peak of %.0f bytes cannot be told from the %.0f of the process that measured it", peak, floor)
	}
	return peak, nil
}
