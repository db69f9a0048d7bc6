package mongo_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"offrampbot/services/store/mongo"
)

// Operation codes of MongoDB's wire protocol.
const (
	opReply   = 1
	opQuery   = 2004
	opMessage = 2013
)

// TestOpen_refusesAServerWithoutTransactions puts the engine in front of a server that says that it is standalone.
func TestOpen_refusesAServerWithoutTransactions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, query string
		hello       bson.D
		want        error
		sentence    string
	}{
		{"standalone", "", nil, mongo.ErrStandalone, "start mongod with --replSet rs0"},
		{"standalone, asked for a replica set", "/?replicaSet=rs0", nil, mongo.ErrStandalone, "rs.initiate()"},
		{"never initiated", "/?replicaSet=rs0", bson.D{{Key: "isreplicaset", Value: true}}, mongo.ErrNotInitiated, "rs.initiate()"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := mongo.Open(t.Context(), mongo.Options{
				URI: "mongodb://" + pretender(t, tt.hello) + tt.query, Database: "d", Timeout: 2 * time.Second,
			})
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.sentence)
		})
	}
}

// pretender is a server that answers every command with one hello.
func pretender(t *testing.T, more bson.D) (address string) {
	t.Helper()
	hello, err := bson.Marshal(append(bson.D{
		{Key: "ok", Value: 1}, {Key: "helloOk", Value: true}, {Key: "ismaster", Value: len(more) == 0}, {Key: "isWritablePrimary", Value: len(more) == 0},
		{Key: "minWireVersion", Value: 0}, {Key: "maxWireVersion", Value: 17}, {Key: "maxBsonObjectSize", Value: 16 << 20},
		{Key: "maxMessageSizeBytes", Value: 48000000}, {Key: "maxWriteBatchSize", Value: 100000}, {Key: "localTime", Value: time.UnixMilli(0)},
	}, more...))
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = errors.Join(answer(conn, hello), conn.Close()) }()
		}
	}()
	return listener.Addr().String()
}

func answer(conn net.Conn, hello bson.Raw) error {
	for {
		var head [16]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		length := binary.LittleEndian.Uint32(head[:])
		if _, err := io.CopyN(io.Discard, conn, int64(length)-int64(len(head))); err != nil {
			return err
		}
		code, body := uint32(opMessage), make([]byte, 5) // no flags, one body section
		if binary.LittleEndian.Uint32(head[12:]) == opQuery {
			code, body = opReply, make([]byte, 20) // no flags, no cursor, from 0,
			body[16] = 1                           // one document
		}
		body = append(body, hello...)
		reply := binary.LittleEndian.AppendUint32(nil, uint32(16+len(body)))
		reply = binary.LittleEndian.AppendUint32(reply, 1)
		reply = append(reply, head[4:8]...)
		reply = binary.LittleEndian.AppendUint32(reply, code)
		if _, err := conn.Write(append(reply, body...)); err != nil {
			return err
		}
	}
}
