package org.apache.rocketmq.test.base;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.broker.subscription.SubscriptionGroupManager;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.attribute.TopicMessageType;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.netty.NettyServerConfig;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.test.util.MQRandomUtils;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** In the place of Apache's class of this name, which starts brokers in this JVM: the cluster is outside. */
public class BaseConf {
    public static final String NAMESRV_ADDR = System.getProperty("conformance.namesrv");
    protected static final String CLUSTER_NAME = "DefaultCluster";
    protected static final String BROKER1_NAME = "broker-a";
    protected static final String BROKER2_NAME = "broker-b";
    protected static final String BROKER3_NAME = "broker-c";
    protected static final int BROKER_NUM = 3;
    protected static final int WAIT_TIME = 5;
    protected static final int CONSUME_TIME = 120000;
    protected static final int QUEUE_NUMBERS = 8;
    protected static NamesrvController namesrvController;
    protected static BrokerController brokerController1 = outside(BROKER1_NAME);
    protected static BrokerController brokerController2 = outside(BROKER2_NAME);
    protected static BrokerController brokerController3 = outside(BROKER3_NAME);
    protected static List<BrokerController> brokerControllerList = List.of(brokerController1, brokerController2, brokerController3);
    protected static Map<String, BrokerController> brokerControllerMap = new HashMap<>();
    protected static List<Object> mqClients = new ArrayList<>();
    protected static boolean debug;
    private static DefaultMQAdminExt admin;

    private static synchronized DefaultMQAdminExt admin() throws Exception {
        if (admin == null) {
            admin = new DefaultMQAdminExt();
            admin.setNamesrvAddr(NAMESRV_ADDR);
            admin.start();
        }
        return admin;
    }

    private static List<String> addresses(String broker) throws Exception {
        List<String> found = new ArrayList<>();
        admin().examineBrokerClusterInfo().getBrokerAddrTable().forEach((name, data) -> {
            if (broker == null || broker.equals(name)) {
                found.add(data.selectBrokerAddr());
            }
        });
        return found;
    }

    /** A broker of which only the groups are used; those are the outside broker's. */
    private static BrokerController outside(String name) {
        BrokerConfig config = new BrokerConfig();
        config.setBrokerName(name);
        MessageStoreConfig store = new MessageStoreConfig();
        store.setStorePathRootDir(System.getProperty("java.io.tmpdir") + "/" + name);
        return new BrokerController(config, new NettyServerConfig(), new NettyClientConfig(), store) {
            @Override
            public SubscriptionGroupManager getSubscriptionGroupManager() {
                return new SubscriptionGroupManager(this) {
                    @Override
                    public SubscriptionGroupConfig findSubscriptionGroupConfig(String group) {
                        SubscriptionGroupConfig found = new SubscriptionGroupConfig();
                        found.setGroupName(group);
                        return found;
                    }

                    @Override
                    public void updateSubscriptionGroupConfig(SubscriptionGroupConfig group) {
                        create(name, group);
                    }
                };
            }
        };
    }

    private static void create(String broker, SubscriptionGroupConfig group) {
        try {
            for (String address : addresses(broker)) {
                admin().createAndUpdateSubscriptionGroupConfig(address, group);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static String topic(String broker, TopicMessageType type) {
        String topic = MQRandomUtils.getRandomTopic();
        TopicConfig config = new TopicConfig(topic, QUEUE_NUMBERS, QUEUE_NUMBERS, 6);
        config.getAttributes().put("+message.type", type.getValue());
        try {
            for (String address : addresses(broker)) {
                admin().createAndUpdateTopicConfig(address, config);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return topic;
    }

    public static String initTopic() {
        return initTopic(TopicMessageType.NORMAL);
    }

    public static String initTopic(TopicMessageType type) {
        return topic(null, type);
    }

    public static String initTopicOnSampleTopicBroker(String broker) {
        return topic(broker, TopicMessageType.NORMAL);
    }

    public static String initTopicOnSampleTopicBroker(String broker, TopicMessageType type) {
        return topic(broker, type);
    }

    public static String initConsumerGroup(String group) {
        SubscriptionGroupConfig config = new SubscriptionGroupConfig();
        config.setGroupName(group);
        create(null, config);
        return group;
    }
}
