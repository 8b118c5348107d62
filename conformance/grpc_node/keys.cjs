// What the Node client does with some keys: keys.cjs ADDRESS KEY SECRET TOPIC GROUP.
'use strict';
const { Producer, SimpleConsumer } = require('rocketmq-client-nodejs');

const PATIENCE_MS = 15_000;
const SILENT = { debug() {}, info() {}, warn: console.error, error: console.error };

// Says whether something was done, or how it was refused.
async function tell(what, act) {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error('no answer')), PATIENCE_MS));
  try {
    await Promise.race([act(), late]);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code ?? ''} ${error.message}`);
    return false;
  }
  console.log(`${what}: done`);
  return true;
}

async function main(endpoints, accessKey, accessSecret, topic, consumerGroup) {
  const options = { endpoints, namespace: '', requestTimeout: 10_000, logger: SILENT };
  if (accessKey) options.sessionCredentials = { accessKey, accessSecret };
  const producer = new Producer({ ...options, topics: [topic] });
  if (await tell('a producer', () => producer.startup())) {
    await tell('a send', () => producer.send({ topic, body: Buffer.from('hello') }));
  }
  const consumer = new SimpleConsumer({
    ...options, consumerGroup, awaitDuration: 5_000, subscriptions: new Map([[topic, '*']]),
  });
  if (await tell('a consumer', () => consumer.startup())) {
    let received = [];
    const receive = async () => {
      while (received.length === 0) received = await consumer.receive(16, 10_000);
    };
    if (await tell('a receive', receive)) await tell('an acknowledgement', () => consumer.ack(received[0]));
  }
  process.exit(0);
}

main(...process.argv.slice(2));
