package fault_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
)

func TestTable_codesAreUniqueAndInternalIsLast(t *testing.T) {
	t.Parallel()
	rows := fault.Rows()
	require.Equal(t, "internal", rows[len(rows)-1].Code, "RowOf falls back to the last row")
	form := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	seen := map[string]bool{}
	for _, row := range rows {
		require.False(t, seen[row.Code], "%s stands there twice", row.Code)
		seen[row.Code] = true
		require.Regexp(t, form, row.Code)
		require.Equal(t, row, fault.RowOf(row.Code))
	}
}

func TestTable_statusAndLevelFitTheKind(t *testing.T) {
	t.Parallel()
	statuses := map[fault.Kind][]int{
		fault.Invalid:     {400, 405, 413, 415, 422},
		fault.NotFound:    {404},
		fault.Conflict:    {409},
		fault.Denied:      {401, 403},
		fault.Limited:     {422, 423, 429},
		fault.Expired:     {409, 410},
		fault.Unavailable: {503},
		fault.Unknown:     {202},
		fault.Internal:    {500},
	}
	for _, row := range fault.Rows() {
		require.Contains(t, statuses[row.Kind], row.Status, "%s is %s", row.Code, row.Kind)
		require.NotEmpty(t, http.StatusText(row.Status), row.Code)
		require.NotEmpty(t, row.Message, row.Code)
		if row.Kind == fault.Unknown || row.Kind == fault.Internal {
			require.Equal(t, slog.LevelError, row.Level, "%s: a person must look", row.Code)
		}
	}
}

func TestRows_returnsACopy(t *testing.T) {
	t.Parallel()
	fault.Rows()[0].Code = "changed"
	require.NotEqual(t, "changed", fault.Rows()[0].Code)
}

func TestError_matchesKindAndCauseThroughWrapping(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("place order: %w", fault.New("quote_expired", io.ErrUnexpectedEOF))
	require.ErrorIs(t, err, fault.Expired)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NotErrorIs(t, err, fault.Conflict)
	require.True(t, fault.Is(err, "quote_expired"))
	require.False(t, fault.Is(err, "quote_taken"))
	require.False(t, fault.Is(io.EOF, "quote_expired"))
	require.False(t, fault.Is(nil, "quote_expired"))
	require.Equal(t, "quote_expired", fault.As(err).Code)

	bare := fault.New("user_frozen", nil)
	require.ErrorIs(t, bare, fault.Denied)
	require.Equal(t, "user_frozen", bare.Error())
	bare.Op = "place"
	require.Equal(t, "place: user_frozen", bare.Error())
	require.Equal(t, "quote_expired: unexpected EOF", fault.New("quote_expired", io.ErrUnexpectedEOF).Error())
	require.Equal(t, "denied", fault.Denied.Error())
}

func TestError_unclassifiedIsInternal(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk is full")
	got := fault.As(cause)
	require.Equal(t, "internal", got.Code)
	require.ErrorIs(t, got, fault.Internal)
	require.ErrorIs(t, got, cause)
	require.Equal(t, "internal", fault.New("no_such_code", cause).Code, "a code without a row is a programmer's error")
	require.Equal(t, 500, fault.RowOf("no_such_code").Status)
}

func TestWith_leavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	first := fault.New("limit_day", nil).With("left", "5")
	first.RetryAfter = time.Minute
	second := first.With("fiat", "NGN")
	require.Equal(t, map[string]string{"left": "5"}, first.Args)
	require.Equal(t, map[string]string{"left": "5", "fiat": "NGN"}, second.Args)
	require.Equal(t, time.Minute, second.RetryAfter)
	require.True(t, fault.Is(second, "limit_day"))
}
