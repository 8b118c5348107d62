package conformance;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * An ordinary RocketMQ client program that says what it saw.
 *
 * <p>{@code Program NAMESRV scenarios AT_ONCE}: {@code ready}, then for each {@code run SCENARIO SUFFIX} on stdin the
 * lines {@code observed SCENARIO KEY: VALUE}, the same on every correct cluster, {@code failed SCENARIO LINE} for each
 * line of a stack trace, and {@code ended SCENARIO}. Up to AT_ONCE scenarios run at a time, most of which wait; SUFFIX keeps
 * the topics, groups and client ids of runs apart.
 *
 * <p>{@code Program NAMESRV produce|consume ...} is a driver steered over stdin (see {@link Drivers}), and so is
 * {@code Program NAMESRV soaksend|soakhear ...} (see {@link Soak}) {@code Program - stock} (see {@link Stocks}),
 * {@code Program - faulty} (see {@link Faulty}), {@code Program - allocations} (see {@link Allocations}),
 * {@code Program - mqadmin} (see {@link Mqadmin}), and {@code Program - addresses} (see {@link Addresses});
 * {@code Program NAMESRV latencies|drain ...} and {@code Program - suite} are measurements (see {@link Latencies},
 * {@link Drain}, {@link Suite}).
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
        SCENARIOS.put("selected", Bodies::selected);
        SCENARIOS.put("compressed", Bodies::compressed);
        SCENARIOS.put("properties", Bodies::properties);
        SCENARIOS.put("collisions", Bodies::collisions);
        SCENARIOS.put("options", Options::options);
        SCENARIOS.put("delay", Delays::delay);
        SCENARIOS.put("transaction", Transactions::transaction);
        SCENARIOS.put("takeover", Transactions::takeover);
        SCENARIOS.put("request", Replies::request);
        SCENARIOS.put("trace", Traces::trace);
        SCENARIOS.put("push", Pushes::push);
        SCENARIOS.put("orderly", Pushes::orderly);
        SCENARIOS.put("rebalance", Pushes::rebalance);
        SCENARIOS.put("dying", Pushes::dying);
        SCENARIOS.put("orderlydying", Pushes::orderlyDying);
        SCENARIOS.put("broadcast", Pushes::broadcast);
        SCENARIOS.put("timestamp", Groups::timestamp);
        SCENARIOS.put("suspended", Groups::suspended);
        SCENARIOS.put("growing", Groups::growing);
        SCENARIOS.put("deleted", Groups::deleted);
        SCENARIOS.put("reset", Groups::reset);
        SCENARIOS.put("inspected", Groups::inspected);
        SCENARIOS.put("sql", Filters::sql);
        SCENARIOS.put("sqlpush", Filters::sqlPush);
        SCENARIOS.put("nosql", Filters::noSql);
        SCENARIOS.put("resubscribe", Filters::resubscribe);
        SCENARIOS.put("retry", Retries::retry);
        SCENARIOS.put("retrylevels", Retries::retryLevels);
        SCENARIOS.put("retryrest", Retries::retryRest);
        SCENARIOS.put("sendback", Retries::sendBack);
        SCENARIOS.put("orderlyretry", Retries::orderlyRetry);
        SCENARIOS.put("pull", Pulls::pull);
        SCENARIOS.put("offsets", Pulls::offsets);
        SCENARIOS.put("block", Pulls::block);
        SCENARIOS.put("query", Queries::query);
        SCENARIOS.put("litesubscribe", Lites::liteSubscribe);
        SCENARIOS.put("liteassign", Lites::liteAssign);
        SCENARIOS.put("access", Access::access);
        SCENARIOS.put("secured", Secured::secured);
        SCENARIOS.put("steered", Steering::steered);
        Ways.register(SCENARIOS);
        registerIfBuilt("conformance.PopCalls"); // with RocketMQ 5.5.0
        registerIfBuilt("conformance.GrpcClients"); // with -Dgrpc
    }

    /** Scenarios of a class that not every build has. */
    private static void registerIfBuilt(String name) {
        try {
            Class.forName(name).getDeclaredMethod("register", Map.class).invoke(null, SCENARIOS);
        } catch (ClassNotFoundException notBuilt) {
            // Then nothing asks for them.
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
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
            } else if (args[1].equals("latencies")) {
                Latencies.measure(args[0], args);
            } else if (args[1].equals("drain")) {
                Drain.measure(args[0], args);
            } else if (args[1].equals("suite")) {
                Suite.run();
            } else if (args[1].equals("soaksend")) {
                Soak.send(args[0], args);
            } else if (args[1].equals("stock")) {
                Stocks.run();
            } else if (args[1].equals("faulty")) {
                Faulty.run();
            } else if (args[1].equals("addresses")) {
                Addresses.run();
            } else if (args[1].equals("allocations")) {
                Allocations.run();
            } else if (args[1].equals("mqadmin")) {
                Mqadmin.run();
            } else if (args[1].equals("soakhear")) {
                Soak.hear(args[0], args);
            } else {
                scenarios(args[0], Integer.parseInt(args[2]));
            }
        } catch (Throwable failure) {
            failure.printStackTrace();
            status = 1;
        }
        System.out.flush();
        // Clients may still run; none of the observations' business.
        Runtime.getRuntime().halt(status);
    }

    private static void scenarios(String namesrv, int atOnce) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(atOnce);
        Drivers.event("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String command = commands.readLine(); command != null; command = commands.readLine()) {
            String[] words = command.split(" ");
            pool.execute(() -> run(words[1], new Lab(namesrv, words[1], words[2])));
        }
    }

    private static void run(String name, Lab lab) {
        try {
            SCENARIOS.get(name).run(lab);
        } catch (Throwable failure) {
            lab.fail(failure);
        }
        Drivers.event("ended " + name);
        lab.close();
    }
}
