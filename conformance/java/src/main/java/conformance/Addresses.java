package conformance;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/**
 * Reads patterns of addresses as a broker reads those of plain_acl.yml: {@code Program - addresses}. The first line of stdin
 * has addresses, separated by blanks; each other line is a pattern, and is answered by a line {@code matched RESULT}.
 *
 * <p>RESULT has three parts, separated by tabs: {@code OK}, the class of the strategy, and for each address 1 if it matches,
 * 0 if not, ! if the strategy throws; or {@code ERROR}, the class of the exception and its text.
 *
 * <p>The classes are looked up by their names, because 5.5.0 does not have them.
 */
final class Addresses {
    private Addresses() {
    }

    static void run() throws Exception {
        Drivers.event("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String[] addresses = lines.readLine().split(" ");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Drivers.event("matched " + matched(line, addresses));
        }
    }

    private static String matched(String pattern, String[] addresses) throws Exception {
        Class<?> factory = plain("RemoteAddressStrategyFactory");
        Class<?> resource = plain("PlainAccessResource");
        Object strategy;
        try {
            strategy = factory.getMethod("getRemoteAddressStrategy", String.class).invoke(factory.getConstructor().newInstance(), pattern);
        } catch (InvocationTargetException refused) {
            Throwable why = refused.getCause();
            return "ERROR\t" + why.getClass().getSimpleName() + "\t" + why.getMessage();
        }
        Method match = plain("RemoteAddressStrategy").getMethod("match", resource);
        StringBuilder found = new StringBuilder();
        for (String address : addresses) {
            Object peer = resource.getConstructor().newInstance();
            resource.getMethod("setWhiteRemoteAddress", String.class).invoke(peer, address);
            try {
                found.append((Boolean) match.invoke(strategy, peer) ? '1' : '0');
            } catch (InvocationTargetException thrown) {
                found.append('!');
            }
        }
        return "OK\t" + strategy.getClass().getSimpleName() + "\t" + found;
    }

    private static Class<?> plain(String name) throws ClassNotFoundException {
        return Class.forName("org.apache.rocketmq.acl.plain." + name);
    }
}
