// A KafkaJS consumer that reports its rebalances to `rebalance-agent sidecar`, and prints its partitions.
//
//   npm install kafkajs && node kafkajs_reporting.js BOOTSTRAP_SERVERS TOPIC GROUP CLIENT_ID
//
// It runs until its standard input ends (Ctrl-D).
// reportRebalances() is all that your own consumer needs: call it before run(), and close with disconnect().
"use strict";
const crypto = require("crypto");
const http = require("http");
const { Kafka, logLevel } = require("kafkajs");

const SIDECAR = process.env.REBALANCE_AGENT_EVENTS_URL || "http://127.0.0.1:29309/v1/events";
const ALIVE_MS = 120000;

function reportRebalances(consumer, group, clientId) {
  const id = crypto.randomUUID(); // id and sequence identify an event
  let sequence = 0, memberId = "", owned = {}, sent = Promise.resolve();

  // One post after the other, so that they arrive in order. Without a sidecar only the report is lost.
  function post(body) {
    const headers = { "Content-Type": "application/x-ndjson", "Content-Length": Buffer.byteLength(body), "X-Rebalance-Agent-Alive": id };
    sent = sent.then(() => new Promise((done) => {
      const request = http.request(SIDECAR, { method: "POST", headers, timeout: 2000 }, (answer) => {
        let text = "";
        answer.on("data", (part) => (text += part));
        answer.on("end", () => done(answer.statusCode === 200 || console.error(`report refused: ${text}`)));
      });
      request.on("timeout", () => request.destroy());
      request.on("error", () => done());
      request.end(body);
    }));
    return sent;
  }

  function report(callback, startedMs) {
    const partitions = {};
    for (const [topic, numbers] of Object.entries(owned)) partitions[topic] = [...numbers].sort((a, b) => a - b).join(",");
    return post(JSON.stringify({
      kind: "member", schema_version: 1, group, callback, client_id: clientId, member_id: memberId,
      generation: -1, // KafkaJS does not provide it
      started_ms: startedMs, timestamp_ms: Date.now(), partitions, process: id, sequence: ++sequence,
    }) + "\n");
  }

  // KafkaJS gives up all partitions before it rejoins, and emits this when what it had fetched is processed.
  consumer.on(consumer.events.REBALANCING, ({ timestamp }) => {
    report("revoked", timestamp);
    owned = {};
  });
  consumer.on(consumer.events.GROUP_JOIN, ({ timestamp, payload }) => {
    memberId = payload.memberId;
    owned = payload.memberAssignment;
    report("assigned", timestamp);
  });
  const disconnect = consumer.disconnect;
  consumer.disconnect = async () => {
    const startedMs = Date.now();
    await disconnect();
    clearInterval(alive);
    await report("left", startedMs);
  };
  const alive = setInterval(() => post(""), ALIVE_MS);
  alive.unref();
}

async function main([bootstrap, topic, groupId, clientId]) {
  const kafka = new Kafka({ clientId, brokers: bootstrap.split(","), logLevel: logLevel.ERROR });
  const consumer = kafka.consumer({ groupId, sessionTimeout: 20000, heartbeatInterval: 500, maxWaitTimeInMs: 500 });
  reportRebalances(consumer, groupId, clientId);
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => console.log("partitions", (payload.memberAssignment[topic] || []).join(" ")));
  process.stdin.resume().on("end", async () => process.exit(await consumer.disconnect()));
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({ eachMessage: async () => {} });
}

main(process.argv.slice(2)).catch((error) => process.exit(console.error(error.message) || 1));
