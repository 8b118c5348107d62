package conformance;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.RemotingSerializable;

/**
 * Divides queues by RocketMQ's own strategies: {@code Program - allocations} answers each line of stdin, an {@link Input}
 * as JSON, by a line {@code allocated RESULTS}.
 *
 * <p>RESULTS are separated by tabs, one for each strategy, in the order of {@link #allocate}: numbers of queues as they lie
 * in the input, those of {@code config} counted on behind those of {@code queues}, or {@code !EXCEPTION: TEXT}. Characters
 * beyond ASCII are written as backslash, u and four digits.
 */
public final class Allocations {
    /** One division; queues and ids are in any order, as a client gets them. */
    public static final class Input {
        public String group;
        public String current;
        public List<String> ids;
        /** Each {@code TOPIC BROKER ID}, separated by blanks. */
        public List<String> queues;
        public List<String> config;
        public List<String> rooms;
        public int nodes;
        public String inner;
    }

    /** A queue that knows its place in the input. */
    private static final class Placed extends MessageQueue {
        final int place;

        Placed(String text, int place) {
            super(text.split(" ")[0], text.split(" ")[1], Integer.parseInt(text.split(" ")[2]));
            this.place = place;
        }
    }

    /** A room is what stands before the last dash. */
    private static final class Rooms implements AllocateMachineRoomNearby.MachineRoomResolver {
        @Override
        public String brokerDeployIn(MessageQueue queue) {
            return room(queue.getBrokerName());
        }

        @Override
        public String consumerDeployIn(String clientId) {
            return room(clientId);
        }

        private static String room(String name) {
            return name.substring(0, Math.max(0, name.lastIndexOf('-')));
        }
    }

    private Allocations() {
    }

    static void run() throws Exception {
        Drivers.event("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Drivers.event("allocated " + ascii(String.join("\t", allocate(RemotingSerializable.fromJson(line, Input.class)))));
        }
    }

    private static List<String> allocate(Input input) {
        List<MessageQueue> queues = placed(input.queues, 0);
        List<MessageQueue> config = placed(input.config, queues.size());
        // As RebalanceImpl#rebalanceByTopic.
        Collections.sort(queues);
        List<String> ids = new ArrayList<>(input.ids);
        Collections.sort(ids);
        AllocateMessageQueueByConfig byConfig = new AllocateMessageQueueByConfig();
        byConfig.setMessageQueueList(config);
        AllocateMessageQueueByMachineRoom byRoom = new AllocateMessageQueueByMachineRoom();
        byRoom.setConsumeridcs(new HashSet<>(input.rooms));
        List<Callable<AllocateMessageQueueStrategy>> strategies = List.of(
            AllocateMessageQueueAveragely::new,
            AllocateMessageQueueAveragelyByCircle::new,
            () -> byConfig,
            () -> byRoom,
            () -> new AllocateMachineRoomNearby(inner(input, byRoom), new Rooms()),
            () -> new AllocateMessageQueueConsistentHash(input.nodes));
        List<String> results = new ArrayList<>();
        for (Callable<AllocateMessageQueueStrategy> strategy : strategies) {
            results.add(result(() -> strategy.call().allocate(input.group, input.current, queues, ids)));
        }
        return results;
    }

    private static AllocateMessageQueueStrategy inner(Input input, AllocateMessageQueueByMachineRoom byRoom) {
        switch (input.inner) {
            case "AVG":
                return new AllocateMessageQueueAveragely();
            case "AVG_BY_CIRCLE":
                return new AllocateMessageQueueAveragelyByCircle();
            case "MACHINE_ROOM":
                return byRoom;
            default:
                return new AllocateMessageQueueConsistentHash(input.nodes);
        }
    }

    private static List<MessageQueue> placed(List<String> texts, int first) {
        List<MessageQueue> queues = new ArrayList<>();
        for (String text : texts) {
            queues.add(new Placed(text, first + queues.size()));
        }
        return queues;
    }

    private static String result(Callable<List<MessageQueue>> allocating) {
        try {
            StringBuilder places = new StringBuilder();
            for (MessageQueue queue : allocating.call()) {
                places.append(places.length() == 0 ? "" : " ").append(((Placed) queue).place);
            }
            return places.toString();
        } catch (Exception refused) {
            return "!" + refused.getClass().getSimpleName() + ": " + refused.getMessage();
        }
    }

    private static String ascii(String text) {
        StringBuilder plain = new StringBuilder();
        for (char one : text.toCharArray()) {
            plain.append(one < 128 ? String.valueOf(one) : String.format("\\u%04x", (int) one));
        }
        return plain.toString();
    }
}
