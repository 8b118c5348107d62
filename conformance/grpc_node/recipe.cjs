const { Producer, SimpleConsumer } = require('rocketmq-client-nodejs');

async function main(endpoints, tls) {
  const options = { endpoints, namespace: '', sslEnabled: tls };
  const producer = new Producer({ ...options, topics: ['greetings'] });
  await producer.startup();
  await producer.send({ topic: 'greetings', body: Buffer.from('hello') });

  const consumer = new SimpleConsumer({
    ...options, consumerGroup: 'readers', awaitDuration: 5_000, subscriptions: new Map([['greetings', '*']]),
  });
  await consumer.startup();
  let received = [];
  while (received.length === 0) received = await consumer.receive(16, 10_000);
  for (const one of received) {
    console.log('received', one.body.toString());
    await consumer.ack(one);
  }
  process.exit(0);
}

main(process.argv[2], process.argv[3] === 'tls');
