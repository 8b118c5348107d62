use std::time::Duration;

use rocketmq::conf::{ClientOption, ProducerOption, SimpleConsumerOption};
use rocketmq::error::ClientError;
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::MessageBuilder;
use rocketmq::{Producer, SimpleConsumer};

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let words: Vec<String> = std::env::args().collect();
    let mut client = ClientOption::default();
    client.set_access_url(words[1].clone());
    client.set_enable_tls(words[2] == "tls");
    client.set_long_polling_timeout(Duration::from_secs(7)); // of the call, too: not under 6 s

    let mut option = ProducerOption::default();
    option.set_topics(vec!["greetings"]);
    let mut producer = Producer::new(option, client.clone())?;
    producer.start().await?;
    let message = MessageBuilder::builder().set_topic("greetings").set_body(b"hello".to_vec()).build()?;
    producer.send(message).await?;

    let mut option = SimpleConsumerOption::default();
    option.set_topics(vec!["greetings"]);
    option.set_consumer_group("readers");
    let mut consumer = SimpleConsumer::new(option, client)?;
    consumer.start().await?;
    let everything = FilterExpression::new(FilterType::Tag, "*");
    let mut received = Vec::new();
    while received.is_empty() {
        // It is an error that there is no message.
        received = consumer.receive("greetings", &everything).await.unwrap_or_default();
    }
    for one in received {
        println!("received {}", String::from_utf8_lossy(one.body()));
        consumer.ack(&one).await?;
    }
    Ok(())
}
