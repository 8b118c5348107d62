import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MQVersion;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.namesrv.NamesrvConfig;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.netty.NettyServerConfig;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class EmbeddedShopTest {
    static NamesrvController namesrv;
    static BrokerController broker;
    static String namesrvAddr;

    @BeforeAll
    static void start() throws Exception {
        // BrokerStartup does this; without it the name server takes the broker for one of RocketMQ 3.
        System.setProperty(RemotingCommand.REMOTING_VERSION_KEY, String.valueOf(MQVersion.CURRENT_VERSION));
        Path home = Files.createTempDirectory("rocketmq");

        NamesrvConfig namesrvConfig = new NamesrvConfig();
        namesrvConfig.setKvConfigPath(home.resolve("kvConfig.json").toString());
        namesrvConfig.setConfigStorePath(home.resolve("namesrv.properties").toString());
        NettyServerConfig namesrvServer = new NettyServerConfig();
        namesrvServer.setListenPort(freePort());
        namesrv = new NamesrvController(namesrvConfig, namesrvServer);
        namesrv.initialize();
        namesrv.start();
        namesrvAddr = "127.0.0.1:" + namesrvServer.getListenPort();

        BrokerConfig brokerConfig = new BrokerConfig();
        brokerConfig.setBrokerName("broker-a");
        brokerConfig.setBrokerIP1("127.0.0.1");
        brokerConfig.setNamesrvAddr(namesrvAddr);
        NettyServerConfig brokerServer = new NettyServerConfig();
        brokerServer.setListenPort(freePort()); // the port 2 below must be free, too
        MessageStoreConfig store = new MessageStoreConfig();
        store.setStorePathRootDir(home.resolve("store").toString());
        store.setStorePathCommitLog(home.resolve("store/commitlog").toString());
        store.setMappedFileSizeCommitLog(16 * 1024 * 1024);
        store.setHaListenPort(freePort());
        broker = new BrokerController(brokerConfig, brokerServer, new NettyClientConfig(), store);
        broker.initialize();
        broker.start();
        broker.getTopicConfigManager().updateTopicConfig(new TopicConfig("orders", 4, 4, 6));
        broker.registerBrokerAll(true, false, true);
        while (namesrv.getRouteInfoManager().pickupTopicRouteData("orders") == null) {
            Thread.sleep(20);
        }
    }

    @AfterAll
    static void stop() {
        broker.shutdown();
        namesrv.shutdown();
    }

    static int freePort() throws Exception {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    @Test
    void orderIsReceived() throws Exception {
        try (Shop shop = new Shop(namesrvAddr)) {
            shop.order("tea", 0);
            assertEquals("tea", shop.received.poll(30, TimeUnit.SECONDS));
        }
    }

    // An order for two hours later would take two hours.
}
