package build

import (
	"context"
	"os"
	"path/filepath"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/image"
)

// WorkloadName is the repository of the test program's image. It looks like a
// registry's, and nothing is ever pulled from there.
const WorkloadName = "example.azurecr.io/workload"

// nonRoot is the user that the test program runs as, by number: the kubelet
// cannot tell from a name whether it is root.
const nonRoot = "65532:65532"

// Images returns the archive with the images of a real node, and the reference
// of the test program's, pinned by digest.
func Images(ctx context.Context, pauseName string, say func(string, ...any)) (archive, workload string, err error) {
	src, err := source()
	if err != nil {
		return "", "", err
	}
	flags := buildFlags("-s -w -buildid=")
	var files []string
	for _, glob := range []string{"workload/*.go", "pause/*.go", "internal/image/*.go"} {
		found, err := filepath.Glob(filepath.Join(src, glob))
		if err != nil {
			return "", "", err
		}
		files = append(files, found...)
	}
	k, err := key(append(flags, pauseName, WorkloadName, nonRoot), files...)
	if err != nil {
		return "", "", err
	}
	dir, err := cached(ctx, "images-"+k, say, func(ctx context.Context, path string) error {
		return makeImages(ctx, src, path, pauseName, flags)
	})
	if err != nil {
		return "", "", err
	}
	reference, err := os.ReadFile(filepath.Join(dir, "workload"))
	return filepath.Join(dir, "images.tar"), string(reference), err
}

func makeImages(ctx context.Context, src, dir, pauseName string, flags []string) error {
	_ = os.RemoveAll(dir)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	images := make([]image.Image, 0, 2)
	for _, name := range []string{"pause", "workload"} {
		path := filepath.Join(dir, name+".program")
		if err := goBuild(ctx, src, "./"+name, path, flags); err != nil {
			return err
		}
		program, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		img, err := image.New(name, program, nonRoot)
		if err != nil {
			return err
		}
		images = append(images, img)
	}
	reference := WorkloadName + "@" + images[1].Digest()
	archive, err := os.Create(filepath.Join(dir, "images.tar"))
	if err != nil {
		return err
	}
	defer archive.Close()
	if err := image.Write(archive, map[string]image.Image{pauseName: images[0], reference: images[1]}); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "workload"), []byte(reference), 0o644)
}
