// Clients and telling for one scenario.
'use strict';
const {
  Producer, SimpleConsumer, PushConsumer, LitePushConsumerBuilder, ConsumeResult, FilterExpression,
} = require('rocketmq-client-nodejs');

const INVISIBLE_MS = 10_000;
const AWAIT_MS = 5_000;
const PATIENCE_MS = 90_000;
const QUIET_MS = INVISIBLE_MS + AWAIT_MS; // what was not acknowledged comes again
const SILENT = { debug() {}, info() {}, warn: console.error, error: console.error };

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

class Lab {
  #atEnd = [];

  constructor(address, suffix, scenario) {
    this.scenario = scenario;
    this.suffix = suffix;
    this.options = {
      endpoints: address, namespace: '', requestTimeout: 10_000, logger: SILENT,
      sslEnabled: Boolean(process.env.CONFORMANCE_TLS),
    };
  }

  name(name) {
    return `${name}_${this.suffix}`;
  }

  say(line) {
    console.log(`${this.scenario}\t${line.replaceAll('\n', ' | ')}`);
  }

  // Says how something was refused.
  async sayFailure(what, action) {
    try {
      await action();
      this.say(`${what}: done`);
    } catch (error) {
      const text = String(error.message).replace(/\[request-id=[^\]]*\] ?/, '');
      this.say(`${what}: ${error.name} ${error.code ?? ''} ${text}`);
    }
  }

  async producer(topic, check) {
    const checker = check && { check: async found => check(found) };
    return this.#begun(new Producer({ ...this.options, topics: [topic], topic, checker }));
  }

  async simple(group, topic, expression = FilterExpression.SUB_ALL) {
    return this.#begun(new SimpleConsumer({
      ...this.options, consumerGroup: group, awaitDuration: AWAIT_MS, subscriptions: new Map([[topic, expression]]),
    }));
  }

  async push(group, topic, succeeds) {
    return this.#begun(new PushConsumer({
      ...this.options, consumerGroup: group, longPollingTimeout: AWAIT_MS,
      subscriptions: new Map([[topic, FilterExpression.SUB_ALL]]),
      messageListener: { consume: found => (succeeds(found) ? ConsumeResult.SUCCESS : ConsumeResult.FAILURE) },
    }));
  }

  async lite(group, topic, succeeds) {
    const consumer = await new LitePushConsumerBuilder().setClientConfiguration(this.options).bindTopic(topic)
      .setConsumerGroup(group).setMessageListener({
        consume: found => (succeeds(found) ? ConsumeResult.SUCCESS : ConsumeResult.FAILURE),
      }).build();
    this.#atEnd.push({ shutdown: () => consumer.close() });
    return consumer;
  }

  async #begun(client) {
    await client.startup();
    this.#atEnd.push(client);
    return client;
  }

  // Receives so many messages, each acknowledged at once.
  async receive(consumer, count, most = 16) {
    const found = [];
    await until(`${count} messages`, async () => {
      for (const one of await receiveSome(consumer, most)) {
        found.push(one);
        await consumer.ack(one);
      }
      return found.length >= count;
    });
    return found;
  }

  // Receives one message, which is not acknowledged.
  async receiveOne(consumer) {
    let found = [];
    await until('a message', async () => {
      found = await receiveSome(consumer, 1);
      return found.length > 0;
    });
    return found[0];
  }

  // Says the keys of a group's dead letters, once there is one.
  async sayBuried(group) {
    let consumer;
    await until('a route of dead letters', async () => {
      try {
        consumer = await this.simple(this.name(`Buried${this.scenario}`), `%DLQ%${group}`);
        return true;
      } catch {
        return false;
      }
    });
    this.say(`buried ${(await this.receive(consumer, 1)).map(key)}`);
  }

  async close() {
    await Promise.race([Promise.allSettled(this.#atEnd.map(client => client.shutdown())), sleep(3_000)]);
  }
}

// Receives once; a call that a busy machine leaves no time for is made again.
async function receiveSome(consumer, most) {
  try {
    return await consumer.receive(most, INVISIBLE_MS);
  } catch (error) {
    console.error(error);
    return [];
  }
}

async function until(what, holds) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!await holds()) {
    if (Date.now() > deadline) throw new Error(`${what}: not within ${PATIENCE_MS} ms`);
    await sleep(20);
  }
}

function message(topic, name, more = {}) {
  return { topic, keys: [name], tag: 't', body: Buffer.from(`body of ${name}`), ...more };
}

function key(found) {
  return found.keys.join(' ');
}

// Returns what every correct cluster shows of a received message.
function shown(found) {
  const properties = [...found.properties].filter(([name]) => name !== '__transactionId__').sort();
  return `keys=${found.keys} tag=${found.tag} body=${found.body} properties=${JSON.stringify(properties)}`
    + ` group=${found.messageGroup ?? ''} attempt=${found.deliveryAttempt} corrupted=${found.corrupted}`;
}

module.exports = { Lab, QUIET_MS, until, receiveSome, message, key, shown, sleep };
