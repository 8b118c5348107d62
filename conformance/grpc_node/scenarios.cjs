// The scenarios; those of other clients have the same names.
'use strict';
const { FilterExpression } = require('rocketmq-client-nodejs');
const { FilterType, TransactionResolution } = require('rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb');
const {
  QUIET_MS, until, receiveSome, message, key, shown, sleep,
} = require('./lab.cjs');

async function plain(lab) {
  const topic = lab.name(lab.scenario);
  const producer = await lab.producer(topic);
  for (let number = 0; number < 8; number++) {
    const properties = new Map([['number', String(number)]]);
    const receipt = await producer.send(message(topic, `m${number}`, { properties }));
    lab.say(`sent, id of ${receipt.messageId.length} characters`);
  }
  const found = await lab.receive(await lab.simple(topic, topic), 8);
  found.sort((one, other) => key(one).localeCompare(key(other)));
  for (const one of found) lab.say(`received ${shown(one)}`);
}

async function sendInOrder(producer, topic) {
  for (let number = 0; number < 6; number++) {
    await producer.send(message(topic, `m${number}`, { messageGroup: 'one group' }));
  }
}

async function fifo(lab) {
  const topic = lab.name(lab.scenario);
  await sendInOrder(await lab.producer(topic), topic);
  const found = await lab.receive(await lab.simple(topic, topic), 6, 2);
  lab.say(`in order ${found.map(key)}`);
}

async function fifopush(lab) {
  const topic = lab.name(lab.scenario);
  const producer = await lab.producer(topic);
  const heard = [];
  await lab.push(topic, topic, found => {
    heard.push(key(found));
    return key(found) !== 'm2';
  });
  await sendInOrder(producer, topic);
  await until('the last message', () => heard.includes('m5'));
  await lab.sayBuried(topic);
  lab.say(`in order ${heard}`);
}

async function delay(lab) {
  const topic = lab.name(lab.scenario);
  const producer = await lab.producer(topic);
  const due = new Date(Date.now() + 5_000);
  const gone = await producer.send(message(topic, 'gone', { deliveryTimestamp: due }));
  await producer.send(message(topic, 'stays', { deliveryTimestamp: due }));
  await lab.sayFailure('recalled', () => producer.recallMessage(topic, gone.recallHandle));
  await lab.sayFailure('no handle', () => producer.recallMessage(topic, 'nonsense'));
  const found = await lab.receive(await lab.simple(topic, topic), 1);
  lab.say(`received ${found.map(key)} early=${Date.now() < due - 1_000}`);
}

async function transaction(lab) {
  const topic = lab.name(lab.scenario);
  const checked = new Set();
  const producer = await lab.producer(topic, found => {
    // On a busy machine brokers may ask about a transaction that the producer is about to end.
    if (!['left', 'unwanted'].includes(key(found))) return TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED;
    checked.add(key(found));
    return key(found) === 'left' ? TransactionResolution.COMMIT : TransactionResolution.ROLLBACK;
  });
  for (const name of ['committed', 'rolled-back', 'left', 'unwanted']) {
    const begun = producer.beginTransaction();
    await producer.send(message(topic, name), begun);
    if (name === 'committed') await lab.sayFailure('commit', () => begun.commit());
    if (name === 'rolled-back') await lab.sayFailure('roll back', () => begun.rollback());
  }
  const found = await lab.receive(await lab.simple(topic, topic), 2);
  lab.say(`received ${found.map(key).sort()}`);
  await until('both checks', () => checked.size === 2);
  lab.say(`checked ${[...checked].sort()}`);
}

async function retry(lab) {
  const topic = lab.name(lab.scenario);
  const producer = await lab.producer(topic);
  const heard = [];
  await lab.push(topic, topic, found => {
    heard.push(`${key(found)} ${found.deliveryAttempt}`);
    return key(found) === 'good' || (key(found) === 'once' && found.deliveryAttempt > 1);
  });
  for (const name of ['good', 'once', 'bad']) await producer.send(message(topic, name));
  await until('six deliveries', () => heard.length >= 6);
  await lab.sayBuried(topic);
  lab.say(`heard ${heard.sort()}`);
}

async function change(lab) {
  const topic = lab.name(lab.scenario);
  const producer = await lab.producer(topic);
  const consumer = await lab.simple(topic, topic);
  await producer.send(message(topic, 'sooner'));
  const first = await lab.receiveOne(consumer);
  const began = Date.now();
  await lab.sayFailure('change', () => consumer.changeInvisibleDuration(first, 2_000));
  const again = await lab.receiveOne(consumer);
  lab.say(`it came again ${shown(again)} early=${Date.now() - began < 1_900}`);
  await lab.sayFailure('ack', () => consumer.ack(again));
}

async function filters(lab) {
  const topic = lab.name(lab.scenario);
  const producer = await lab.producer(topic);
  for (let number = 0; number < 6; number++) {
    const properties = new Map([['number', String(number)]]);
    await producer.send(message(topic, `m${number}`, { tag: `t${'abc'[number % 3]}`, properties }));
  }
  for (const [name, count, expression] of [
    ['Tag', 2, new FilterExpression('ta')],
    ['Tags', 4, new FilterExpression('ta || tc')],
    ['Sql', 2, new FilterExpression('number > 3', FilterType.SQL)],
  ]) {
    const found = await lab.receive(await lab.simple(lab.name(name), topic, expression), count);
    lab.say(`${name} ${found.map(key).sort()}`);
  }
}

async function refused(lab) {
  const topic = lab.name(lab.scenario);
  const producer = await lab.producer(topic);
  await lab.sayFailure('of another type', () => producer.send(message(topic, 'ordered', { messageGroup: 'g' })));
  await lab.sayFailure('to no topic', () => producer.send(message(lab.name('nowhere'), 'lost')));
  await lab.sayFailure('a producer of no topic', () => lab.producer(lab.name('nowhere')));
}

// Sends and receives side by side, while somebody else ends the master: for CONFORMANCE_SECONDS, and until what was
// acknowledged has come and nothing more comes, or its time is over: who reads the lines sees what is missing.
async function failover(lab) {
  const topic = lab.name(lab.scenario);
  const producer = await lab.producer(topic);
  const consumer = await lab.simple(topic, topic);
  const sent = [];
  const received = new Set();
  const end = Date.now() + Number(process.env.CONFORMANCE_SECONDS) * 1_000;
  let last = Date.now();
  const sending = (async () => {
    for (let number = 0; Date.now() < end; number++) {
      try {
        await producer.send(message(topic, `m${number}`));
        sent.push(`m${number}`);
        lab.say(`sent: m${number}`);
      } catch (error) {
        console.error(error);
      }
      await sleep(100);
    }
  })();
  const hear = async () => {
    for (const one of await receiveSome(consumer, 16)) {
      last = Date.now();
      received.add(key(one));
      lab.say(`received: ${key(one)}`);
      await consumer.ack(one).catch(console.error);
    }
  };
  while (Date.now() < end) await hear();
  await sending;
  const deadline = Date.now() + 3 * QUIET_MS;
  while (Date.now() < deadline && !(sent.every(name => received.has(name)) && Date.now() - last > QUIET_MS)) {
    await hear();
  }
}

// Subscribes to two lite topics, to one of them no longer; each message is heard before the next one is sent.
async function lite(lab) {
  const topic = lab.name(lab.scenario);
  const producer = await lab.producer(topic);
  const heard = [];
  const consumer = await lab.lite(topic, topic, found => {
    heard.push(`${key(found)} of ${found.liteTopic} attempt ${found.deliveryAttempt}`);
    return key(found) !== 'm1' || found.deliveryAttempt > 1;
  });
  const sendTo = async (name, liteTopic, awaited) => {
    await producer.send(message(topic, name, { liteTopic }));
    if (awaited) await until(awaited, () => heard.includes(awaited));
  };
  await consumer.subscribeLite('a');
  await consumer.subscribeLite('b');
  await sendTo('m0', 'a', 'm0 of a attempt 1');
  await sendTo('m1', 'b', 'm1 of b attempt 2');
  await consumer.unsubscribeLite('a');
  await sendTo('unheard', 'a');
  await sendTo('m2', 'b', 'm2 of b attempt 1');
  lab.say(`heard ${heard}`);
  lab.say(`lite topics ${[...consumer.getLiteTopicSet()].sort()}`);
  await lab.sayFailure('a name that no lite topic has', () => consumer.subscribeLite('a b'));
  await lab.sayFailure('without a lite topic', () => producer.send(message(topic, 'plain')));
}

module.exports = {
  plain, tls: plain, fifo, fifopush, delay, transaction, retry, change, filters, refused, failover, lite,
};
