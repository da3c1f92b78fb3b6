// A consumer of sarama that prints what it does: sarama_member BOOTSTRAP GROUP TOPIC CLIENT_ID BALANCER.
//
// Lines on standard output, as in tests/support/members/member_lines.py: "assigned MS P...", "revoked MS P...",
// "read MS P OFFSET". It leaves the group when standard input ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// member prints its assignment at the start and at the end of each session, and each record that it reads.
type member struct {
	lock  sync.Mutex
	topic string
}

func (m *member) print(word string, numbers ...int64) {
	m.lock.Lock()
	defer m.lock.Unlock()
	line := fmt.Sprint(word, " ", time.Now().UnixMilli())
	for _, number := range numbers {
		line += fmt.Sprint(" ", number)
	}
	fmt.Println(line)
}

func (m *member) printAssignment(word string, session sarama.ConsumerGroupSession) error {
	var numbers []int64
	for _, number := range session.Claims()[m.topic] {
		numbers = append(numbers, int64(number))
	}
	slices.Sort(numbers)
	m.print(word, numbers...)
	return nil
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	return m.printAssignment("assigned", session)
}

func (m *member) Cleanup(session sarama.ConsumerGroupSession) error {
	return m.printAssignment("revoked", session)
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
			m.print("read", int64(message.Partition), message.Offset)
			session.MarkMessage(message, "")
		}
	}
}

func run(arguments []string) error {
	if len(arguments) != 5 {
		return fmt.Errorf("usage: sarama_member BOOTSTRAP GROUP TOPIC CLIENT_ID BALANCER")
	}
	bootstrap, group, topic, clientID := arguments[0], arguments[1], arguments[2], arguments[3]
	balancer := map[string]sarama.BalanceStrategy{
		"range":  sarama.NewBalanceStrategyRange(),
		"sticky": sarama.NewBalanceStrategySticky(),
	}[arguments[4]]
	if balancer == nil {
		return fmt.Errorf("no balancer %q", arguments[4])
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
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	consumer := &member{topic: topic}
	for ctx.Err() == nil {
		if err := client.Consume(ctx, []string{topic}, consumer); err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return client.Close()
}
