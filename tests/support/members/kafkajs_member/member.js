// A consumer of KafkaJS that says what happens to it: member.js BOOTSTRAP GROUP TOPIC CLIENT_ID.
//
// Lines on standard output, as in tests/support/members/member_lines.py: "assigned MS P...", "revoked MS P...",
// "read MS P OFFSET". It leaves the group when standard input ends.
"use strict";

const { Kafka, logLevel } = require("kafkajs");

const [bootstrap, groupId, topic, clientId] = process.argv.slice(2);
const kafka = new Kafka({ clientId, brokers: [bootstrap], logLevel: logLevel.NOTHING });
const consumer = kafka.consumer({
  groupId,
  sessionTimeout: 20000,
  heartbeatInterval: 200,
  maxWaitTimeInMs: 200, // it has its heartbeats between its fetches
  metadataMaxAge: 1000,
});
let owned = [];

function tell(word, ...numbers) {
  process.stdout.write([word, Date.now(), ...numbers].join(" ") + "\n");
}

function giveUp() {
  tell("revoked", ...owned);
  owned = [];
}

// It gives everything up before it joins, and says so when all that it had fetched is processed.
consumer.on(consumer.events.REBALANCING, giveUp);
consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  owned = payload.memberAssignment[topic] || [];
  tell("assigned", ...owned);
});
consumer.on(consumer.events.CRASH, ({ payload }) => {
  process.stderr.write(`${payload.error.stack}\n`);
});

async function run() {
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    autoCommitInterval: 1000,
    eachMessage: async ({ partition, message }) => tell("read", partition, message.offset),
  });
}

async function end() {
  await consumer.disconnect();
  giveUp();
  process.exit(0);
}

process.stdin.resume();
process.stdin.on("end", end);
run().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
