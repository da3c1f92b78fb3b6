// A member on franz-go, unmodified: go_member JSON. Its lines and commands are those of tests/judge/members/account.py.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type config struct {
	Bootstrap string   `json:"bootstrap"`
	Group     string   `json:"group"`
	Name      string   `json:"name"`
	Instance  string   `json:"instance"`
	Topics    []string `json:"topics"`
	File      string   `json:"file"`
	CommitMs  int      `json:"commit_ms"`
	Settings  struct {
		Balancer           string `json:"balancer"`
		SessionTimeoutMs   int    `json:"session_timeout_ms"`
		HeartbeatMs        int    `json:"heartbeat_interval_ms"`
		RebalanceTimeoutMs int    `json:"rebalance_timeout_ms"`
	} `json:"settings"`
}

type command struct {
	Do      string  `json:"do"`
	Seconds float64 `json:"seconds"`
}

func nowMs() float64 { return float64(time.Now().UnixMicro()/100) / 10 }

// account writes each line with one call, so that none is lost when the process is killed.
type account struct {
	lock sync.Mutex
	file *os.File
	slow float64
}

func (a *account) say(what string, more map[string]any) {
	line := map[string]any{"at": nowMs(), "what": what}
	for key, value := range more {
		line[key] = value
	}
	data, _ := json.Marshal(line)
	a.lock.Lock()
	defer a.lock.Unlock()
	_, _ = a.file.Write(append(data, '\n'))
}

func (a *account) callback(what string, given map[string][]int32) {
	names := []string{}
	for topic, numbers := range given {
		for _, number := range numbers {
			names = append(names, fmt.Sprintf("%s-%d", topic, number))
		}
	}
	sort.Strings(names)
	a.say(what, map[string]any{"edge": "enter", "partitions": names})
	if what == "revoked" && len(names) > 0 && a.slow > 0 {
		time.Sleep(time.Duration(a.slow * float64(time.Second)))
		a.slow = 0
	}
	a.say(what, map[string]any{"edge": "exit", "partitions": names})
}

func main() {
	var c config
	if err := json.Unmarshal([]byte(os.Args[1]), &c); err != nil {
		panic(err)
	}
	file, err := os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		panic(err)
	}
	said := &account{file: file}
	commands := make(chan command, 16)
	closing, closeNow := context.WithCancel(context.Background())
	go listen(commands, closeNow)
	balancer := kgo.RangeBalancer()
	if c.Settings.Balancer == "cooperative-sticky" {
		balancer = kgo.CooperativeStickyBalancer()
	}
	callback := func(what string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(ctx context.Context, client *kgo.Client, given map[string][]int32) {
			said.callback(what, given)
			if what == "revoked" {
				_ = client.CommitUncommittedOffsets(ctx)
			}
		}
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(c.Bootstrap, ",")...), kgo.ClientID(c.Name), kgo.ConsumerGroup(c.Group),
		kgo.ConsumeTopics(c.Topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()), kgo.Balancers(balancer),
		kgo.HeartbeatInterval(time.Duration(c.Settings.HeartbeatMs) * time.Millisecond),
		kgo.SessionTimeout(time.Duration(c.Settings.SessionTimeoutMs) * time.Millisecond),
		kgo.RebalanceTimeout(time.Duration(c.Settings.RebalanceTimeoutMs) * time.Millisecond),
		kgo.AutoCommitInterval(time.Duration(c.CommitMs) * time.Millisecond),
		kgo.MetadataMaxAge(3 * time.Second), kgo.MetadataMinAge(time.Second), kgo.FetchMaxWait(500 * time.Millisecond),
		kgo.OnPartitionsAssigned(callback("assigned")), kgo.OnPartitionsRevoked(callback("revoked")),
		kgo.OnPartitionsLost(callback("lost")),
	}
	if os.Getenv("KGO_LOG") != "" {
		options = append(options, kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, nil)))
	}
	if c.Instance != "" {
		options = append(options, kgo.InstanceID(c.Instance))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	said.say("subscribed", map[string]any{"topics": c.Topics})
	live(closing, client, said, commands)
	said.say("closing", nil)
	client.Close()
	said.say("closed", nil)
}

func live(closing context.Context, client *kgo.Client, said *account, commands chan command) {
	first, last, flushed := map[string]float64{}, map[string]float64{}, 0.0
	for closing.Err() == nil {
		select {
		case next := <-commands:
			if next.Do == "slow" {
				said.slow = next.Seconds
			}
		default:
		}
		wait, done := context.WithTimeout(closing, 100*time.Millisecond)
		fetches := client.PollFetches(wait)
		done()
		at := nowMs()
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if len(p.Records) == 0 {
				return
			}
			name := fmt.Sprintf("%s-%d", p.Topic, p.Partition)
			if _, ok := first[name]; !ok {
				first[name] = at
			}
			last[name] = at
		})
		if len(first) > 0 && at-flushed > 250 {
			said.say("read", map[string]any{"first": first, "last": last})
			first, last, flushed = map[string]float64{}, map[string]float64{}, at
		}
	}
}

func listen(commands chan command, closeNow func()) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var next command
		if json.Unmarshal(lines.Bytes(), &next) != nil {
			continue
		}
		if next.Do == "close" {
			closeNow()
			go func() { time.Sleep(time.Minute); os.Exit(2) }()
			continue
		}
		commands <- next
	}
	os.Exit(1)
}
