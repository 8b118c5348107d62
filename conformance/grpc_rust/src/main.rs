//! The Rust client of RocketMQ 5 at work: `grpc_rust ADDRESS SUFFIX SCENARIO...` runs scenarios side by side and
//! prints what the client observes, one line "SCENARIO<tab>OBSERVATION" each, and "SCENARIO<tab>!end" or "!failed"
//! last. Topics and groups of these names are there already.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use rocketmq::conf::{ClientOption, ProducerOption, SimpleConsumerOption};
use rocketmq::error::ClientError;
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::{MessageBuilder, MessageView};
use rocketmq::model::transaction::{Transaction, TransactionChecker, TransactionResolution};
use rocketmq::{Producer, SimpleConsumer};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const INVISIBLE: Duration = Duration::from_secs(10);
/// Of the call, too: a proxy waits for 5 s at least.
const AWAIT: Duration = Duration::from_secs(7);
const PATIENCE: Duration = Duration::from_secs(90);
/// What was not acknowledged comes again.
const QUIET: Duration = Duration::from_secs(15);

/// One scenario's run.
struct Lab {
    address: String,
    suffix: String,
    scenario: String,
}

impl Lab {
    fn name(&self, name: &str) -> String {
        format!("{}_{}", name, self.suffix)
    }

    fn topic(&self) -> String {
        self.name(&self.scenario)
    }

    fn say(&self, line: impl AsRef<str>) {
        println!("{}\t{}", self.scenario, line.as_ref().replace('\n', " | "));
    }

    /// Says how something was refused.
    fn say_failure<T>(&self, what: &str, result: Result<T, ClientError>) {
        match result {
            Ok(_) => self.say(format!("{what}: done")),
            Err(error) => {
                let context: Vec<_> = error.context().iter().map(|(key, value)| format!("{key}={value}")).collect();
                self.say(format!("{what}: {} {} {:?}", error.kind(), error.message(), context));
            }
        }
    }

    fn option(&self) -> ClientOption {
        let mut option = ClientOption::default();
        option.set_access_url(self.address.clone());
        option.set_timeout(Duration::from_secs(10));
        option.set_long_polling_timeout(AWAIT);
        option
    }

    async fn producer(&self, topic: &str, checker: Option<Box<TransactionChecker>>) -> Result<Producer, ClientError> {
        let mut option = ProducerOption::default();
        option.set_topics(vec![topic]);
        let mut producer = match checker {
            Some(checker) => Producer::new_transaction_producer(option, self.option(), checker)?,
            None => Producer::new(option, self.option())?,
        };
        producer.start().await?;
        Ok(producer)
    }

    async fn simple(&self, group: &str, topic: &str) -> Result<SimpleConsumer, ClientError> {
        let mut option = SimpleConsumerOption::default();
        option.set_topics(vec![topic]);
        option.set_consumer_group(group);
        let mut consumer = SimpleConsumer::new(option, self.option())?;
        consumer.start().await?;
        Ok(consumer)
    }

    /// Receives so many messages, each acknowledged at once.
    async fn receive(
        &self,
        consumer: &SimpleConsumer,
        topic: &str,
        filter: &FilterExpression,
        count: usize,
        most: i32,
    ) -> Result<Vec<MessageView>, Failure> {
        let mut found = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        while found.len() < count {
            if Instant::now() > deadline {
                return Err(format!("{count} messages: not within {PATIENCE:?}").into());
            }
            // It is an error that there is no message.
            if let Ok(some) = consumer.receive_with(topic, filter, most, INVISIBLE).await {
                for one in some {
                    consumer.ack(&one).await?;
                    found.push(one);
                }
            }
        }
        Ok(found)
    }
}

fn message(topic: &str, key: &str) -> MessageBuilder {
    MessageBuilder::builder()
        .set_topic(topic)
        .set_keys(vec![key])
        .set_tag("t")
        .set_body(format!("body of {key}").into_bytes())
}

fn key(found: &MessageView) -> String {
    found.keys().join(" ")
}

fn keys(found: &[MessageView]) -> Vec<String> {
    found.iter().map(key).collect()
}

fn sorted_keys(found: &[MessageView]) -> Vec<String> {
    let mut all = keys(found);
    all.sort();
    all
}

/// Returns what every correct cluster shows of a received message.
fn shown(found: &MessageView) -> String {
    let mut properties: Vec<_> = found.properties().iter().map(|(key, value)| format!("{key}={value}")).collect();
    properties.sort();
    format!(
        "keys={:?} tag={} body={} properties={:?} group={} attempt={}",
        found.keys(),
        found.tag().unwrap_or(""),
        String::from_utf8_lossy(found.body()),
        properties,
        found.message_group().unwrap_or(""),
        found.delivery_attempt(),
    )
}

fn everything() -> FilterExpression {
    FilterExpression::new(FilterType::Tag, "*")
}

async fn plain(lab: &Lab) -> Result<(), Failure> {
    let topic = lab.topic();
    let producer = lab.producer(&topic, None).await?;
    for number in 0..8 {
        let properties = [("number".to_string(), number.to_string())].into_iter().collect();
        let made = message(&topic, &format!("m{number}")).set_properties(properties).build()?;
        let receipt = producer.send(made).await?;
        lab.say(format!("sent, id of {} characters", receipt.message_id().len()));
    }
    let consumer = lab.simple(&topic, &topic).await?;
    let mut found = lab.receive(&consumer, &topic, &everything(), 8, 16).await?;
    found.sort_by_key(key);
    for one in &found {
        lab.say(format!("received {}", shown(one)));
    }
    Ok(())
}

async fn fifo(lab: &Lab) -> Result<(), Failure> {
    let topic = lab.topic();
    let producer = lab.producer(&topic, None).await?;
    for number in 0..6 {
        producer.send(message(&topic, &format!("m{number}")).set_message_group("one group").build()?).await?;
    }
    let consumer = lab.simple(&topic, &topic).await?;
    let found = lab.receive(&consumer, &topic, &everything(), 6, 2).await?;
    lab.say(format!("in order {:?}", keys(&found)));
    Ok(())
}

async fn delay(lab: &Lab) -> Result<(), Failure> {
    let topic = lab.topic();
    let producer = lab.producer(&topic, None).await?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs() as i64;
    producer.send(message(&topic, "stays").set_delivery_timestamp(now + 5).build()?).await?;
    let consumer = lab.simple(&topic, &topic).await?;
    let found = lab.receive(&consumer, &topic, &everything(), 1, 16).await?;
    let end = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs() as i64;
    lab.say(format!("received {:?} early={}", keys(&found), end < now + 4));
    Ok(())
}

async fn transaction(lab: &Lab) -> Result<(), Failure> {
    let topic = lab.topic();
    let checked = Arc::new(Mutex::new(BTreeSet::new()));
    let asked = checked.clone();
    let checker = Box::new(move |_: String, found: MessageView| {
        let key = key(&found);
        let resolution = match key.as_str() {
            "left" => TransactionResolution::COMMIT,
            "unwanted" => TransactionResolution::ROLLBACK,
            // On a busy machine brokers may ask about one that the producer is about to end.
            _ => return TransactionResolution::UNKNOWN,
        };
        asked.lock().unwrap().insert(key);
        resolution
    });
    let producer = lab.producer(&topic, Some(checker)).await?;
    for name in ["committed", "rolled-back", "left", "unwanted"] {
        let begun = producer.send_transaction_message(message(&topic, name).enable_transaction().build()?).await?;
        match name {
            "committed" => lab.say_failure("commit", begun.commit().await),
            "rolled-back" => lab.say_failure("roll back", begun.rollback().await),
            _ => {}
        }
    }
    let consumer = lab.simple(&topic, &topic).await?;
    let found = lab.receive(&consumer, &topic, &everything(), 2, 16).await?;
    lab.say(format!("received {:?}", sorted_keys(&found)));
    let deadline = Instant::now() + PATIENCE;
    while checked.lock().unwrap().len() < 2 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    lab.say(format!("checked {:?}", checked.lock().unwrap()));
    Ok(())
}

async fn filters(lab: &Lab) -> Result<(), Failure> {
    let topic = lab.topic();
    let producer = lab.producer(&topic, None).await?;
    for number in 0..6 {
        let properties = [("number".to_string(), number.to_string())].into_iter().collect();
        let tag = ["ta", "tb", "tc"][number % 3];
        let made = message(&topic, &format!("m{number}")).set_tag(tag).set_properties(properties);
        producer.send(made.build()?).await?;
    }
    for (name, count, filter) in [
        ("Tag", 2, FilterExpression::new(FilterType::Tag, "ta")),
        ("Tags", 4, FilterExpression::new(FilterType::Tag, "ta || tc")),
        ("Sql", 2, FilterExpression::new(FilterType::Sql, "number > 3")),
    ] {
        let consumer = lab.simple(&lab.name(name), &topic).await?;
        let found = lab.receive(&consumer, &topic, &filter, count, 16).await?;
        lab.say(format!("{name} {:?}", sorted_keys(&found)));
    }
    Ok(())
}

async fn refused(lab: &Lab) -> Result<(), Failure> {
    let topic = lab.topic();
    let nowhere = lab.name("nowhere");
    let producer = lab.producer(&topic, None).await?;
    let ordered = message(&topic, "ordered").set_message_group("g").build()?;
    lab.say_failure("of another type", producer.send(ordered).await);
    lab.say_failure("to no topic", producer.send(message(&nowhere, "lost").build()?).await);
    lab.say_failure("a producer of no topic", lab.producer(&nowhere, None).await);
    Ok(())
}

/// Sends and receives side by side, while somebody else ends the master: for CONFORMANCE_SECONDS, and until what was
/// acknowledged has come and nothing more comes, or its time is over: who reads the lines sees what is missing.
async fn fail_over(lab: &Lab) -> Result<(), Failure> {
    let topic = lab.topic();
    let end = Instant::now() + Duration::from_secs(std::env::var("CONFORMANCE_SECONDS")?.parse()?);
    let producer = lab.producer(&topic, None).await?;
    let consumer = lab.simple(&topic, &topic).await?;
    let sending = async {
        let mut sent = BTreeSet::new();
        let mut number = 0;
        while Instant::now() < end {
            let name = format!("m{number}");
            if producer.send(message(&topic, &name).build()?).await.is_ok() {
                lab.say(format!("sent: {name}"));
                sent.insert(name);
            }
            number += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok::<_, Failure>(sent)
    };
    let received = Mutex::new(BTreeSet::new());
    let last = Mutex::new(Instant::now());
    let hear = || async {
        // It is an error that there is no message.
        let some = consumer.receive_with(&topic, &everything(), 16, INVISIBLE).await.unwrap_or_default();
        for one in some {
            *last.lock().unwrap() = Instant::now();
            lab.say(format!("received: {}", key(&one)));
            received.lock().unwrap().insert(key(&one));
            let _ = consumer.ack(&one).await; // it comes again
        }
    };
    let hearing = async {
        while Instant::now() < end {
            hear().await;
        }
    };
    let (sent, ()) = tokio::join!(sending, hearing);
    let sent = sent?;
    let deadline = Instant::now() + 3 * QUIET;
    while Instant::now() < deadline
        && (!sent.is_subset(&received.lock().unwrap()) || last.lock().unwrap().elapsed() < QUIET)
    {
        hear().await;
    }
    Ok(())
}

async fn run<F: Future<Output = Result<(), Failure>>>(lab: &Lab, scenario: F) {
    match scenario.await {
        Ok(()) => lab.say("!end"),
        Err(error) => lab.say(format!("!failed {}", format!("{error:?}").replace('\n', " | "))),
    }
}

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    let running: Vec<_> = words[3..]
        .iter()
        .map(|scenario| {
            let lab = Lab { address: words[1].clone(), suffix: words[2].clone(), scenario: scenario.clone() };
            tokio::spawn(async move {
                match lab.scenario.as_str() {
                    "plain" => run(&lab, plain(&lab)).await,
                    "fifo" => run(&lab, fifo(&lab)).await,
                    "delay" => run(&lab, delay(&lab)).await,
                    "transaction" => run(&lab, transaction(&lab)).await,
                    "filters" => run(&lab, filters(&lab)).await,
                    "refused" => run(&lab, refused(&lab)).await,
                    "failover" => run(&lab, fail_over(&lab)).await,
                    other => lab.say(format!("!failed no scenario {other}")),
                }
            })
        })
        .collect();
    for one in running {
        one.await.unwrap();
    }
}
