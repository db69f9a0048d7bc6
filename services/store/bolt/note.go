package bolt

import (
	"fmt"
	"os"
	"strings"
)

// The note beside the database file says who has it open. It is for people only: the lock is bbolt's own.

func notePath(path string) string { return path + ".user" }

func writeNote(path string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	text := fmt.Sprintf("process %d on %s\n", os.Getpid(), host)
	if err := os.WriteFile(notePath(path), []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write who uses %s: %w", path, err)
	}
	return notePath(path), nil
}

func readNote(path string) string {
	text, err := os.ReadFile(notePath(path))
	if err != nil || len(text) == 0 {
		return "another process"
	}
	return strings.TrimSpace(string(text))
}

// syncFolder makes the name of a new file durable: flushing the file alone does not.
func syncFolder(folder string) (err error) {
	d, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	defer func() {
		if closeErr := d.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("close folder: %w", closeErr)
		}
	}()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("flush folder: %w", err)
	}
	return nil
}
