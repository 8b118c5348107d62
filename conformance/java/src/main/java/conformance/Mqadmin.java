package conformance;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.remoting.netty.NettyRemotingClient;
import org.apache.rocketmq.tools.command.MQAdminStartup;
import org.apache.rocketmq.tools.command.SubCommand;
import org.apache.rocketmq.tools.monitor.DefaultMonitorListener;
import org.apache.rocketmq.tools.monitor.MonitorConfig;
import org.apache.rocketmq.tools.monitor.MonitorService;
import org.apache.rocketmq.tools.monitor.UndoneMsgs;

/**
 * RocketMQ's own mqadmin, many sub-commands in one JVM: {@code Program - mqadmin}.
 *
 * <p>Each line of stdin has, separated by tabs, a tag, after how many lines of output the sub-command is interrupted (0: it
 * ends by itself) in its sleep, and mqadmin's arguments. The answer is {@code printed TAG LINE} for each line on its stdout and stderr,
 * then {@code ended TAG}. Instead of arguments, {@code @commands} prints all sub-commands with their options, and
 * {@code @monitor NAMESRV} what one round of the service that startMonitoring starts reports of lags.
 */
final class Mqadmin {
    private static final long PATIENCE_MS = 30_000;

    private Mqadmin() {
    }

    static void run() throws Exception {
        System.setProperty("rocketmq.home.dir", System.getProperty("user.home"));
        PrintStream stdout = System.out;
        stdout.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            String printed = printed(Arrays.copyOfRange(words, 2, words.length), Integer.parseInt(words[1]));
            for (String one : printed.split("\r?\n", -1)) {
                stdout.println("printed " + words[0] + " " + one);
            }
            stdout.println("ended " + words[0]);
            stdout.flush();
        }
    }

    private static String printed(String[] arguments, int mostLines) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream output = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        System.setOut(output);
        System.setErr(output);
        Thread thread = new Thread(() -> command(arguments), "mqadmin");
        thread.start();
        long end = System.currentTimeMillis() + PATIENCE_MS;
        while (thread.isAlive()) {
            thread.join(10);
            boolean enough = mostLines > 0 && bytes.toString(StandardCharsets.UTF_8).lines().count() >= mostLines;
            if (enough && sleeps(thread) || System.currentTimeMillis() > end) {
                thread.interrupt();
            }
            if (isIn(thread.getStackTrace(), NettyRemotingClient.class, "shutdown")) {
                Thread.getAllStackTraces().forEach(Mqadmin::wake);
            }
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    /**
     * Wake the event thread of a client that shuts down.
     *
     * <p>The thread looks at its queue for three seconds at a time, and with 5.5.0 each shutdown waits for it.
     */
    private static void wake(Thread thread, StackTraceElement[] stack) {
        if (thread.getName().startsWith("NettyEventExecutor") && isIn(stack, LinkedBlockingQueue.class, "poll")) {
            thread.interrupt();
        }
    }

    private static boolean isIn(StackTraceElement[] stack, Class<?> type, String method) {
        return Arrays.stream(stack).anyMatch(one -> one.getClassName().equals(type.getName()) && one.getMethodName().equals(method));
    }

    /** Whether it waits for its next round: a sub-command may swallow an interrupt elsewhere. */
    private static boolean sleeps(Thread thread) {
        StackTraceElement[] frames = thread.getStackTrace();
        return frames.length > 0 && frames[0].getClassName().equals("java.lang.Thread") && frames[0].getMethodName().startsWith("sleep");
    }

    /** The table of sub-commands, whose name is not the same in all versions. */
    private static Collection<?> table() throws ReflectiveOperationException {
        for (Field field : MQAdminStartup.class.getDeclaredFields()) {
            if (Collection.class.isAssignableFrom(field.getType())) {
                field.setAccessible(true);
                return (Collection<?>) field.get(null);
            }
        }
        throw new NoSuchFieldException("the table of sub-commands");
    }

    private static void describe(SubCommand command) {
        StringBuilder line = new StringBuilder(command.commandName());
        for (Object option : command.buildCommandlineOptions(new Options()).getOptions()) {
            line.append(" -").append(((Option) option).getOpt().trim());
        }
        System.out.println(line);
    }

    private static void command(String[] arguments) {
        try {
            table().clear(); // A sub-command is a new object at each call, as in a JVM of its own.
            if (arguments[0].equals("@commands")) {
                MQAdminStartup.initCommand();
                table().forEach(one -> describe((SubCommand) one));
            } else if (arguments[0].equals("@monitor")) {
                monitor(arguments[1]);
            } else {
                MQAdminStartup.main0(arguments, null);
            }
        } catch (Throwable failure) {
            failure.printStackTrace();
        }
    }

    /** One round of the monitor, which a real startMonitoring begins after 20 s. */
    private static void monitor(String namesrv) throws Exception {
        MonitorConfig config = new MonitorConfig();
        config.setNamesrvAddr(namesrv);
        Map<String, String> reports = new TreeMap<>();
        MonitorService service = new MonitorService(config, new DefaultMonitorListener() {
            @Override
            public void reportUndoneMsgs(UndoneMsgs undone) {
                // Its own group's lag depends on when it commits.
                if (!undone.getConsumerGroup().equals(MixAll.MONITOR_CONSUMER_GROUP)) {
                    reports.put(undone.getConsumerGroup() + " " + undone.getTopic(), undone.toString());
                }
            }
        }, null);
        service.start();
        try {
            service.doMonitorWork();
            reports.values().forEach(System.out::println);
        } finally {
            service.shutdown();
        }
    }
}
