//go:build torture

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// daemon is a server of this test alone, so that it may be stopped, frozen and started again.
type daemon struct {
	t    *testing.T
	bin  string
	args []string
	port string
	cmd  *exec.Cmd
	done chan struct{}
}

func newDaemon(t *testing.T, variable string, args func(port, dir string) []string) *daemon {
	t.Helper()
	bin := os.Getenv(variable)
	require.NotEmpty(t, bin, `%s is not set: eval "$(scripts/services binaries)"`, variable)
	_, port, err := net.SplitHostPort(quietAddress(t))
	require.NoError(t, err)
	d := &daemon{t: t, bin: bin, port: port, args: args(port, t.TempDir())}
	d.start()
	t.Cleanup(d.stop)
	return d
}

func (d *daemon) start() {
	d.t.Helper()
	d.cmd = exec.Command(d.bin, d.args...) //nolint:gosec,noctx // the path comes from whoever runs the test; stop ends it
	require.NoError(d.t, d.cmd.Start())
	done := make(chan struct{})
	d.done = done
	go func(cmd *exec.Cmd) {
		defer close(done)
		_ = cmd.Wait()
	}(d.cmd)
}

// stop ends the server as its operator does, and waits for it.
func (d *daemon) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	<-d.done
}

// freeze lets the server hang with its connections open.
func (d *daemon) freeze(long time.Duration) {
	d.t.Helper()
	require.NoError(d.t, d.cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(long)
	require.NoError(d.t, d.cmd.Process.Signal(syscall.SIGCONT))
}

// ownMongo is a replica set of one, with fail points.
type ownMongo struct {
	*daemon
	uri string
}

func newOwnMongo(t *testing.T) *ownMongo {
	t.Helper()
	d := newDaemon(t, "MONGOD", func(port, dir string) []string {
		return []string{
			"--replSet", "rs0", "--port", port, "--bind_ip", "127.0.0.1", "--nounixsocket", "--dbpath", dir, "--wiredTigerCacheSizeGB", "1",
			"--quiet", "--setParameter", "enableTestCommands=1", "--setParameter", "transactionLifetimeLimitSeconds=15",
			"--setParameter", "diagnosticDataCollectionEnabled=false",
		}
	})
	m := &ownMongo{d, "mongodb://127.0.0.1:" + d.port + "/?replicaSet=rs0"}
	m.eventually("initiated", func(ctx context.Context, c *mongodriver.Client) error {
		err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetInitiate", Value: bson.D{
			{Key: "_id", Value: "rs0"}, {Key: "members", Value: bson.A{bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: "127.0.0.1:" + d.port}}}},
		}}}).Err()
		var known mongodriver.CommandError
		if asCommand(err, &known) && known.Name == "AlreadyInitialized" {
			return nil
		}
		return err
	})
	m.primary()
	return m
}

func asCommand(err error, into *mongodriver.CommandError) bool {
	known, ok := err.(mongodriver.CommandError) //nolint:errorlint // the driver returns it as it is
	*into = known
	return ok
}

// eventually runs a command on a direct connection until it succeeds.
func (m *ownMongo) eventually(what string, do func(ctx context.Context, c *mongodriver.Client) error) {
	m.t.Helper()
	client, err := mongodriver.Connect(options.Client().ApplyURI("mongodb://127.0.0.1:" + m.port + "/?directConnection=true").SetTimeout(2 * time.Second))
	require.NoError(m.t, err)
	defer func() { _ = client.Disconnect(context.WithoutCancel(m.t.Context())) }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if err = do(m.t.Context(), client); err == nil {
			return
		}
		require.True(m.t, time.Now().Before(deadline), "%s: %v", what, err)
	}
}

func (m *ownMongo) primary() {
	m.t.Helper()
	m.eventually("primary", func(ctx context.Context, c *mongodriver.Client) error {
		var hello struct {
			Primary bool `bson:"isWritablePrimary"`
		}
		err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
		if err == nil && !hello.Primary {
			err = fmt.Errorf("not primary yet")
		}
		return err
	})
}

// restart ends the server and starts it on the same data.
func (m *ownMongo) restart() {
	m.t.Helper()
	m.stop()
	m.start()
	m.primary()
}

// failPoint lets some of the next commands fail in one way.
func (m *ownMongo) failPoint(times int, data bson.D) {
	m.t.Helper()
	m.eventually("fail point", func(ctx context.Context, c *mongodriver.Client) error {
		return c.Database("admin").RunCommand(ctx, bson.D{
			{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.D{{Key: "times", Value: times}}}, {Key: "data", Value: data},
		}).Err()
	})
}
