// Reports the rebalances of a franz-go consumer to `rebalance-agent sidecar`: copy it, and use it as main.go does.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type callback = func(context.Context, *kgo.Client, map[string][]int32)

func reporting(group, clientID string) (timed func(name string, yours callback) callback, left func()) {
	queue, done, alive := make(chan []byte, 1000), make(chan bool), time.NewTicker(2*time.Minute)
	memberID, generation, process, sequence := "", int32(-1), rand.Text(), 0 // the last two identify an event
	go func() {
		for line := range queue { // one post after the other, so that they arrive in order
			post(process, line)
		}
		close(done)
	}()
	go func() {
		for range alive.C {
			post(process, nil)
		}
	}()
	report := func(name string, started time.Time, partitions map[string][]int32) {
		texts := map[string]string{}
		for topic, numbers := range partitions {
			texts[topic] = strings.ReplaceAll(strings.Trim(fmt.Sprint(slices.Sorted(slices.Values(numbers))), "[]"), " ", ",")
		}
		sequence++
		line, _ := json.Marshal(map[string]any{"kind": "member", "schema_version": 1, "callback": name, "group": group, "client_id": clientID,
			"member_id": memberID, "generation": generation, "started_ms": started.UnixMilli(), "timestamp_ms": time.Now().UnixMilli(),
			"partitions": texts, "process": process, "sequence": sequence})
		select { // the consumer does not wait: without a place in the queue the report is lost
		case queue <- line:
		default:
		}
	}
	timed = func(name string, yours callback) callback {
		return func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
			started := time.Now()
			memberID, generation = client.GroupMetadata()
			yours(ctx, client, partitions)
			report(name, started, partitions)
		}
	}
	return timed, func() {
		report("left", time.Now(), nil)
		alive.Stop()
		close(queue)
		<-done
	}
}

func post(process string, body []byte) {
	sidecar := cmp.Or(os.Getenv("REBALANCE_AGENT_EVENTS_URL"), "http://127.0.0.1:29309/v1/events")
	request, _ := http.NewRequest(http.MethodPost, sidecar, bytes.NewReader(body))
	request.Header.Set("X-Rebalance-Agent-Alive", process)
	answer, err := (&http.Client{Timeout: 2 * time.Second}).Do(request)
	if err != nil {
		return // without a sidecar only the report is lost
	}
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode >= 300 {
		fmt.Fprintf(os.Stderr, "report refused: %s\n", text)
	}
	answer.Body.Close()
}
