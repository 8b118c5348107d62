const assert = require('node:assert');
const { spawn } = require('node:child_process');
const { existsSync, mkdtempSync, readFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { before, beforeEach, test } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');
const { Producer, SimpleConsumer } = require('rocketmq-client-nodejs');

let ready;

before(async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'fakemq-')), 'ready.json');
  const ports = ['namesrv', 'broker', 'grpc', 'control'].flatMap(name => [`--${name}-port`, '0']);
  const cluster = spawn('python3', ['-m', 'fakemq', '--quiet', ...ports, '--topic', 'orders:4', '--ready-file', file]);
  process.once('exit', () => cluster.kill());
  while (!existsSync(file)) await sleep(20); // it is written when all ports listen
  ready = JSON.parse(readFileSync(file));
});
beforeEach(() => post('/v1/reset'));

async function post(path, body = {}) {
  const answer = await fetch(ready.control + path, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  });
  assert(answer.ok, await answer.text());
}

test('an order that is not acknowledged comes again', async () => {
  await post('/v1/clock/freeze');
  const options = { endpoints: ready.grpc, namespace: '' };
  const shop = new Producer({ ...options, topics: ['orders'] });
  await shop.startup();
  await shop.send({ topic: 'orders', body: Buffer.from('tea') });
  await post('/v1/assert/sent', { topic: 'orders', bodies: ['tea'] });

  const billing = new SimpleConsumer({
    ...options, consumerGroup: 'billing', awaitDuration: 5_000, subscriptions: new Map([['orders', '*']]),
  });
  await billing.startup();
  const [first] = await billing.receive(1, 60_000); // hidden for a minute
  await post('/v1/clock/advance_to_next', { kind: 'pop_revive' });
  const [again] = await billing.receive(1, 60_000);
  assert.deepStrictEqual([first, again].map(one => one.deliveryAttempt), [1, 2]);
  await billing.ack(again);
  await billing.shutdown();
  await shop.shutdown();
});
