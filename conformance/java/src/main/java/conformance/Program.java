package conformance;

import java.util.Map;
import java.util.TreeMap;

/**
 * An ordinary RocketMQ client program that says what it saw.
 *
 * <p>{@code Program NAMESRV SCENARIO} prints observations, one "= ..." line each, the same on every correct cluster;
 * {@code Program NAMESRV produce|consume ...} is a driver steered over stdin (see {@link Drivers}).
 * System property {@code conformance.suffix} keeps topics and groups of runs apart.
 */
public final class Program {
    interface Scenario {
        void run(Lab lab) throws Exception;
    }

    private static final Map<String, Scenario> SCENARIOS = new TreeMap<>();

    static {
        SCENARIOS.put("sync", Sends::sync);
        SCENARIOS.put("errors", Sends::errors);
        SCENARIOS.put("async", Sends::async);
        SCENARIOS.put("oneway", Sends::oneway);
        SCENARIOS.put("batch", Sends::batch);
        SCENARIOS.put("autotopic", Sends::autoTopic);
        SCENARIOS.put("push", Pushes::push);
        SCENARIOS.put("orderly", Pushes::orderly);
        SCENARIOS.put("rebalance", Pushes::rebalance);
        SCENARIOS.put("dying", Pushes::dying);
        SCENARIOS.put("broadcast", Pushes::broadcast);
        SCENARIOS.put("pull", Pulls::pull);
        SCENARIOS.put("offsets", Pulls::offsets);
        SCENARIOS.put("block", Pulls::block);
    }

    private Program() {
    }

    public static void main(String[] args) {
        int status = 0;
        try {
            if (args[1].equals("produce")) {
                Drivers.produce(args[0], args);
            } else if (args[1].equals("consume")) {
                Drivers.consume(args[0], args);
            } else {
                Launcher.haltWhenStdinEnds();
                SCENARIOS.get(args[1]).run(new Lab(args[0]));
            }
        } catch (Throwable failure) {
            failure.printStackTrace();
            status = 1;
        }
        System.out.flush();
        // Clients may still run; none of the observations' business.
        Runtime.getRuntime().halt(status);
    }
}
