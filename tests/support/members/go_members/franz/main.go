// A consumer of franz-go that prints what it does: BOOTSTRAP GROUP TOPIC CLIENT_ID BALANCER.
//
// It prints "assigned", "revoked" and "lost" with partitions, and "read" with a partition and an offset. It leaves the group when
// standard input ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"go_members/lines"
)

func main() {
	lines.Main(run)
}

func run(bootstrap, group, topic, clientID, balancerName string) error {
	balancer := map[string]kgo.GroupBalancer{
		"range":              kgo.RangeBalancer(),
		"cooperative-sticky": kgo.CooperativeStickyBalancer(),
	}[balancerName]
	if balancer == nil {
		return fmt.Errorf("no balancer %q", balancerName)
	}
	callback := func(word string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
			if word == "revoked" {
				// A client that commits automatically also commits when partitions are revoked.
				if err := client.CommitUncommittedOffsets(ctx); err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
			}
			lines.PrintPartitions(word, partitions[topic])
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
	ctx := lines.UntilInputEnds()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachRecord(func(record *kgo.Record) {
			lines.Print("read", int64(record.Partition), record.Offset)
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
