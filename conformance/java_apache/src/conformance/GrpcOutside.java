package conformance;

import apache.rocketmq.v2.MessagingServiceGrpc;
import apache.rocketmq.v2.QueryRouteResponse;
import apache.rocketmq.v2.ReceiveMessageRequest;
import apache.rocketmq.v2.ReceiveMessageResponse;
import com.google.protobuf.Duration;
import java.lang.reflect.Field;
import java.util.List;
import java.util.UUID;
import org.apache.rocketmq.common.constant.GrpcConstants;
import org.apache.rocketmq.proxy.config.ConfigurationManager;
import org.apache.rocketmq.test.grpc.v2.GrpcBaseIT;
import org.junit.Before;
import org.junit.Test;
import org.junit.experimental.ParallelComputer;
import org.junit.internal.TextListener;
import org.junit.runner.JUnitCore;

/** The tests of Apache's ClusterGrpcIT, whose server is outside: an address, and no proxy in this JVM. */
public class GrpcOutside extends GrpcBaseIT {
    private static final int INVISIBLE_S = 10;
    private static final int DEADLINE_S = 15;

    public static void main(String[] words) {
        JUnitCore core = new JUnitCore();
        core.addListener(new TextListener(System.out));
        // Each has a client, topics and groups of its own, and waits most of the time.
        System.exit(core.run(ParallelComputer.methods(), GrpcOutside.class).wasSuccessful() ? 0 : 1);
    }

    @Before
    public void setUp() throws Exception {
        header.put(GrpcConstants.CLIENT_ID, "client-id" + UUID.randomUUID());
        header.put(GrpcConstants.LANGUAGE, "JAVA");
        int port = Integer.getInteger("conformance.port");
        synchronized (GrpcOutside.class) { // the tests look at it to know the port of their server
            ConfigurationManager.initEnv();
            ConfigurationManager.initConfig();
            ConfigurationManager.getProxyConfig().setGrpcServerPort(port);
        }
        Field field = GrpcBaseIT.class.getDeclaredField("port");
        field.setAccessible(true);
        field.setInt(this, port);
        blockingStub = createBlockingStub(createChannel(port));
        stub = createStub(createChannel(port));
    }

    /** Apache's server lets a message be received for 3 s; by default a proxy refuses less than 10 s. */
    @Override
    public ReceiveMessageRequest buildReceiveMessageRequest(String topic, String group) {
        return super.buildReceiveMessageRequest(topic, group).toBuilder()
            .setInvisibleDuration(Duration.newBuilder().setSeconds(INVISIBLE_S)).build();
    }

    /** Apache's server polls as briefly as one likes; by default a proxy refuses less than 5 s. */
    @Override
    public List<ReceiveMessageResponse> receiveMessage(MessagingServiceGrpc.MessagingServiceBlockingStub stub, String topic,
        String group, int seconds) {
        return super.receiveMessage(stub, topic, group, Math.max(seconds, 7));
    }

    @Test
    public void testQueryRoute() throws Exception {
        QueryRouteResponse response = blockingStub.queryRoute(buildQueryRouteRequest(initTopic()));
        assertQueryRoute(response, BROKER_NUM * DEFAULT_QUEUE_NUMS);
    }

    @Test
    public void testQueryAssignment() throws Exception {
        super.testQueryAssignment();
    }

    @Test
    public void testQueryFifoAssignment() throws Exception {
        super.testQueryFifoAssignment();
    }

    @Test
    public void testTransactionCheckThenCommit() {
        super.testTransactionCheckThenCommit();
    }

    @Test
    public void testSimpleConsumerSendAndRecvDelayMessage() throws Exception {
        super.testSimpleConsumerSendAndRecvDelayMessage();
    }

    @Test
    public void testSimpleConsumerSendAndRecallDelayMessage() throws Exception {
        super.testSimpleConsumerSendAndRecallDelayMessage();
    }

    @Test
    public void testSimpleConsumerSendAndRecvBigMessage() throws Exception {
        super.testSimpleConsumerSendAndRecvBigMessage();
    }

    @Test
    public void testSimpleConsumerSendAndRecv() throws Exception {
        super.testSimpleConsumerSendAndRecv();
    }

    @Test
    public void testSimpleConsumerToDLQ() throws Exception {
        super.testSimpleConsumerToDLQ();
    }

    @Test
    public void testConsumeOrderly() throws Exception {
        super.testConsumeOrderly();
    }

    @Test
    public void testSimpleConsumerSendAndRecvPriorityMessage() throws Exception {
        super.testSimpleConsumerSendAndRecvPriorityMessage();
    }
}
