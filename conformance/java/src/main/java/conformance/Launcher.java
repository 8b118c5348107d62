package conformance;

import java.lang.reflect.Method;
import java.util.Arrays;

/** Runs another main class and dies with its parent: when stdin ends, the JVM halts. */
public final class Launcher {
    private Launcher() {
    }

    public static void main(String[] args) throws Exception {
        haltWhenStdinEnds();
        Method main = Class.forName(args[0]).getMethod("main", String[].class);
        main.invoke(null, (Object) Arrays.copyOfRange(args, 1, args.length));
    }

    static void haltWhenStdinEnds() {
        Thread watch = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    // Nothing is said on this pipe; only its end means something.
                }
            } catch (java.io.IOException gone) {
                // The same as its end.
            }
            Runtime.getRuntime().halt(3);
        }, "parent-watch");
        watch.setDaemon(true);
        watch.start();
    }
}
