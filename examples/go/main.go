// A franz-go consumer that prints its partitions, and reports its rebalances by reporting.go.
//
//	go run . BOOTSTRAP_SERVERS TOPIC GROUP CLIENT_ID
//
// It runs until its standard input ends (Ctrl-D).
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	bootstrap, topic, group, clientID := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	timed, left := reporting(group, clientID)
	yours := func(name string) callback {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) { fmt.Println(name, partitions) }
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ClientID(clientID),
		kgo.HeartbeatInterval(500*time.Millisecond),
		kgo.OnPartitionsAssigned(timed("assigned", yours("assigned"))),
		kgo.OnPartitionsRevoked(timed("revoked", yours("revoked"))),
		kgo.OnPartitionsLost(timed("lost", yours("lost"))),
	)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	for ctx.Err() == nil { // until the end of standard input
		client.PollFetches(ctx)
	}
	client.Close() // its partitions are revoked
	left()
}
