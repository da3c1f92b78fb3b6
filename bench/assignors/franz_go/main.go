// Times one of franz-go's balancers on one case: franz_go STRATEGY FILE CALLS SECONDS.
//
// It prints "ready", then a line with the CPU nanoseconds of each call. Only Balance is timed, on the calling thread:
// neither MemberBalancer, which decodes the members' subscriptions, nor the encoding of the plan.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 4 {
		return fmt.Errorf("usage: franz_go STRATEGY FILE CALLS SECONDS")
	}
	balancer := map[string]kgo.GroupBalancer{
		"sticky":     kgo.StickyBalancer(),
		"range":      kgo.RangeBalancer(),
		"roundrobin": kgo.RoundRobinBalancer(),
	}[arguments[0]]
	if balancer == nil {
		return fmt.Errorf("no balancer %q", arguments[0])
	}
	topics, members, err := read(arguments[1])
	if err != nil {
		return err
	}
	calls, err := strconv.Atoi(arguments[2])
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseFloat(arguments[3], 64)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	runtime.LockOSThread()
	// The first call warms the caches.
	if _, err := balance(balancer, members, topics); err != nil {
		return err
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for call := 0; call < calls && (call == 0 || time.Now().Before(end)); call++ {
		took, err := balance(balancer, members, topics)
		if err != nil {
			return err
		}
		fmt.Println(took)
	}
	return nil
}

// read returns the topics and the members, in the client's order of a balancer's input.
func read(path string) (map[string]int32, []kmsg.JoinGroupResponseMember, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	lines := json.NewDecoder(bufio.NewReader(file))
	var topics map[string]int32
	if err := lines.Decode(&topics); err != nil {
		return nil, nil, err
	}
	var members []kmsg.JoinGroupResponseMember
	for lines.More() {
		var line [2]string
		if err := lines.Decode(&line); err != nil {
			return nil, nil, err
		}
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID = line[0]
		if member.ProtocolMetadata, err = base64.StdEncoding.DecodeString(line[1]); err != nil {
			return nil, nil, err
		}
		members = append(members, member)
	}
	slices.SortFunc(members, func(a, b kmsg.JoinGroupResponseMember) int { return strings.Compare(a.MemberID, b.MemberID) })
	return topics, members, nil
}

func balance(
	balancer kgo.GroupBalancer, members []kmsg.JoinGroupResponseMember, topics map[string]int32,
) (int64, error) {
	prepared, _, err := balancer.MemberBalancer(members)
	if err != nil {
		return 0, err
	}
	start, err := threadNanoseconds()
	if err != nil {
		return 0, err
	}
	if fallible, ok := prepared.(kgo.GroupMemberBalancerOrError); ok {
		_, err = fallible.BalanceOrError(topics)
	} else {
		prepared.Balance(topics)
	}
	if err != nil {
		return 0, err
	}
	end, err := threadNanoseconds()
	return end - start, err
}

func threadNanoseconds() (int64, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		return 0, err
	}
	return now.Nano(), nil
}
