// A consumer of franz-go that says what happens to it: go_member BOOTSTRAP GROUP TOPIC CLIENT_ID BALANCER.
//
// Lines on standard output, as in tests/support/members/member_lines.py: "assigned MS P...", "revoked MS P...", "lost MS P...",
// "read MS P OFFSET". It leaves the group when standard input ends.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// lines are written whole, and at once.
type lines struct {
	lock sync.Mutex
	out  *bufio.Writer
}

func (l *lines) tell(kind string, numbers ...int64) {
	l.lock.Lock()
	defer l.lock.Unlock()
	fmt.Fprint(l.out, kind, " ", time.Now().UnixMilli())
	for _, number := range numbers {
		fmt.Fprint(l.out, " ", number)
	}
	fmt.Fprintln(l.out)
	l.out.Flush()
}

func run(arguments []string) error {
	if len(arguments) != 5 {
		return fmt.Errorf("usage: go_member BOOTSTRAP GROUP TOPIC CLIENT_ID BALANCER")
	}
	bootstrap, group, topic, clientID := arguments[0], arguments[1], arguments[2], arguments[3]
	balancer := map[string]kgo.GroupBalancer{
		"range":              kgo.RangeBalancer(),
		"cooperative-sticky": kgo.CooperativeStickyBalancer(),
	}[arguments[4]]
	if balancer == nil {
		return fmt.Errorf("no balancer %q", arguments[4])
	}
	said := &lines{out: bufio.NewWriter(os.Stdout)}
	callback := func(kind string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
			if kind == "revoked" {
				// Who commits by itself does so for what is taken away, too.
				if err := client.CommitUncommittedOffsets(ctx); err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
			}
			var numbers []int64
			for _, number := range partitions[topic] {
				numbers = append(numbers, int64(number))
			}
			slices.Sort(numbers)
			said.tell(kind, numbers...)
		}
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ClientID(clientID),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Balancers(balancer),
		kgo.HeartbeatInterval(200*time.Millisecond),
		kgo.SessionTimeout(10*time.Second),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(callback("assigned")),
		kgo.OnPartitionsRevoked(callback("revoked")),
		kgo.OnPartitionsLost(callback("lost")),
	)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachRecord(func(record *kgo.Record) {
			said.tell("read", int64(record.Partition), record.Offset)
		})
		for _, each := range fetches.Errors() {
			if !errors.Is(each.Err, context.Canceled) {
				fmt.Fprintln(os.Stderr, each.Err)
			}
		}
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
	return nil
}
