package mongo

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"offrampbot/services/store"
)

const (
	labelTransient = "TransientTransactionError"
	labelUnknown   = "UnknownTransactionCommitResult"

	codeDuplicateKey        = 11000
	codeWriteConflict       = 112
	codeSnapshotUnavailable = 246
	codeNamespaceExists     = 48
	codeIndexNotFound       = 27
)

func isTransient(err error) bool { return hasLabel(err, labelTransient) }

func isNetwork(err error) bool { return driver.IsNetworkError(err) || driver.IsTimeout(err) }

func hasLabel(err error, label string) bool {
	var labelled driver.LabeledError
	return errors.As(err, &labelled) && labelled.HasErrorLabel(label)
}

func hasCode(err error, code int) bool {
	var server driver.ServerError
	return errors.As(err, &server) && server.HasErrorCode(code)
}

// duplicateIndex finds the name of the violated index: "E11000 duplicate key error collection: d.c index: name dup key".
var duplicateIndex = regexp.MustCompile(`\bindex: (\S+) dup key`)

// duplicateOf names the index that a server's message complains about.
func duplicateOf(c store.Collection, message string) *store.ErrDuplicate {
	e := &store.ErrDuplicate{Collection: c}
	if m := duplicateIndex.FindStringSubmatch(message); m != nil {
		e.Index = m[1]
	}
	if e.Index == "_id_" {
		e.Index = store.ByID
	}
	return e
}

// classify turns an error of a call inside a transaction into the port's errors. Nothing is committed at that point, so
// a lost server is ErrUnavailable.
func classify(ctx context.Context, what string, c store.Collection, err error) error {
	switch {
	case err == nil:
		return nil
	case hasCode(err, codeDuplicateKey):
		return duplicateOf(c, err.Error())
	}
	return fmt.Errorf("%s %s: %w", what, c, unavailable(ctx, err))
}
