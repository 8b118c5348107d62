package conformance;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Clients at name servers that speak TLS, or do not: what comes of a question. */
final class Secured {
    private static final int PATIENCE_MS = 10_000;

    private Secured() {
    }

    /** Asks each of the name servers, which are no cluster, by TLS and without, all at once. */
    static void secured(Lab lab) throws Exception {
        ExecutorService pool = Executors.newCachedThreadPool();
        List<Future<?>> asked = new ArrayList<>();
        for (String address : lab.namesrv.split(";")) {
            for (boolean tls : new boolean[] {true, false}) {
                DefaultMQAdminExt admin = new DefaultMQAdminExt(PATIENCE_MS);
                lab.name(admin, "admin-" + asked.size());
                admin.setNamesrvAddr(address);
                admin.setUseTLS(tls);
                admin.start();
                lab.atEnd(admin::shutdown);
                asked.add(pool.submit(admin::examineBrokerClusterInfo));
            }
        }
        pool.shutdown();
        for (int number = 0; number < asked.size(); number++) {
            lab.say(number / 2 + (number % 2 == 0 ? " by TLS" : " without TLS"), outcome(asked.get(number)));
        }
    }

    private static String outcome(Future<?> asked) throws InterruptedException {
        try {
            asked.get();
            return "answered";
        } catch (ExecutionException failed) {
            // Which of the two depends on whether a client's thread has seen the end of the connection in time.
            String why = failed.getCause().getClass().getSimpleName();
            return why.equals("RemotingSendRequestException") || why.equals("RemotingTimeoutException") ? "no answer" : why;
        }
    }
}
