import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A cluster of fakemq in a process of its own. */
final class FakemqCluster implements AutoCloseable {
    final String namesrvAddr;
    private final String control;
    private final Process process;

    FakemqCluster(String... options) throws Exception {
        Path ready = Files.createTempDirectory("fakemq").resolve("ready.json");
        List<String> command = new ArrayList<>(List.of("python3", "-m", "fakemq", "--quiet",
            "--namesrv-port", "0", "--broker-port", "0", "--control-port", "0", "--ready-file", ready.toString()));
        command.addAll(List.of(options));
        process = new ProcessBuilder(command).inheritIO().start();
        while (!Files.exists(ready)) { // it is written when all ports listen
            if (!process.isAlive()) {
                throw new IllegalStateException("fakemq has ended with " + process.exitValue());
            }
            Thread.sleep(20);
        }
        String text = Files.readString(ready);
        namesrvAddr = field(text, "namesrv");
        control = field(text, "control");
    }

    /** Sends a request to the control port, and returns the answer; a failed assertion is an error. */
    String post(String path, String json) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(control + path))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(json)).build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() >= 400) {
            throw new AssertionError(answer.body());
        }
        return answer.body();
    }

    @Override
    public void close() throws Exception {
        process.destroy();
        process.waitFor();
    }

    private static String field(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\\s*\"([^\"]*)\"").matcher(json);
        if (!found.find()) {
            throw new IllegalStateException("no " + name + " in " + json);
        }
        return found.group(1);
    }
}
