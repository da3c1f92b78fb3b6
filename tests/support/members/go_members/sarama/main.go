// A consumer of sarama that prints what it does: BOOTSTRAP GROUP TOPIC CLIENT_ID BALANCER.
//
// It prints "assigned" and "revoked" with partitions, and "read" with a partition and an offset. It leaves the group when standard
// input ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/IBM/sarama"

	"go_members/lines"
)

func main() {
	lines.Main(run)
}

// member prints its assignment at the start and at the end of each session, and each record that it reads.
type member struct {
	topic string
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	lines.PrintPartitions("assigned", session.Claims()[m.topic])
	return nil
}

func (m *member) Cleanup(session sarama.ConsumerGroupSession) error {
	lines.PrintPartitions("revoked", session.Claims()[m.topic])
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-session.Context().Done():
			return nil
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			lines.Print("read", int64(message.Partition), message.Offset)
			session.MarkMessage(message, "")
		}
	}
}

func run(bootstrap, group, topic, clientID, balancerName string) error {
	balancer := map[string]sarama.BalanceStrategy{
		"range":  sarama.NewBalanceStrategyRange(),
		"sticky": sarama.NewBalanceStrategySticky(),
	}[balancerName]
	if balancer == nil {
		return fmt.Errorf("no balancer %q", balancerName)
	}
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.ClientID = clientID
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond
	config.Consumer.Group.Session.Timeout = 20 * time.Second
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{balancer}
	client, err := sarama.NewConsumerGroup([]string{bootstrap}, group, config)
	if err != nil {
		return err
	}
	ctx := lines.UntilInputEnds()
	for ctx.Err() == nil {
		if err := client.Consume(ctx, []string{topic}, &member{topic}); err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return client.Close()
}
