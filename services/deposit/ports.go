package deposit

import (
	"context"
	"time"
)

// Addresses knows which addresses are ours. They are the same on every EVM chain, in canonical form.
type Addresses interface {
	// Watched lists every address ever allotted. An address is watched from its allotment on and for ever, so a late
	// deposit is found like any other (B46) and a new address needs no back-fill: nobody can know it before (G12).
	Watched(ctx context.Context) ([]string, error)
	// Owner is the id of the user an address was allotted to, empty when no user has it.
	Owner(ctx context.Context, address string) (user string, err error)
	// Since is a time before which no address was allotted; ok is false while none is. A chain that is watched for the
	// first time is read from there, because people may have sent to their address on it before.
	Since(ctx context.Context) (at time.Time, ok bool, err error)
}

// Alarms records what a person must look at and no fact carries: kind and subject name it, text explains. The watcher
// raises one kind and subject once per process; a repeat is harmless.
type Alarms interface {
	RaiseAlarm(ctx context.Context, kind, subject, text string) error
}

// Witness is what a Source may offer besides: the opinion of a second node on the block at a height. asked is false when
// there is no second node or it cannot be reached. A credit is not reversed while a second node still has its block
// (D15).
type Witness interface {
	SecondBlockAt(ctx context.Context, height int64) (b Block, asked bool, err error)
}

// Batch is what a Source may offer besides: many headers or receipts in one round trip. A height above the head gives an
// empty block. The answers are those of BlockAt and Receipt.
type Batch interface {
	BlocksAt(ctx context.Context, heights []int64) (map[int64]Block, error)
	Receipts(ctx context.Context, txs []string) (map[string]Proof, error)
}
