// Package lines prints the lines of a member, as tests/support/members/member_lines.py reads them.
package lines

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

var lock sync.Mutex

// Print writes a word, the time (epoch ms) and numbers as one line at once.
func Print(word string, numbers ...int64) {
	lock.Lock()
	defer lock.Unlock()
	var line strings.Builder
	fmt.Fprint(&line, word, " ", time.Now().UnixMilli())
	for _, number := range numbers {
		fmt.Fprint(&line, " ", number)
	}
	fmt.Fprintln(&line)
	_, _ = os.Stdout.WriteString(line.String())
}

// PrintPartitions writes a line with partitions in ascending order.
func PrintPartitions(word string, partitions []int32) {
	var numbers []int64
	for _, number := range partitions {
		numbers = append(numbers, int64(number))
	}
	slices.Sort(numbers)
	Print(word, numbers...)
}

// UntilInputEnds returns a context that ends with standard input.
func UntilInputEnds() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return ctx
}

// Main runs a member with the arguments BOOTSTRAP GROUP TOPIC CLIENT_ID BALANCER, and ends the program.
func Main(run func(bootstrap, group, topic, clientID, balancer string) error) {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: BOOTSTRAP GROUP TOPIC CLIENT_ID BALANCER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
