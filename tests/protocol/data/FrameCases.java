import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.remoting.CommandCustomHeader;
import org.apache.rocketmq.remoting.protocol.LanguageCode;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.SerializeType;

/** Prints what java_frames.txt holds; how to run it stands there. */
public class FrameCases {
    static final String HEADERS = "org.apache.rocketmq.common.protocol.header.";

    public static void main(String[] args) throws Exception {
        int opaque = 0;
        for (String line : Files.readAllLines(Path.of("java_headers.txt"))) {
            if (line.startsWith("#")) {
                continue;
            }
            String name = line.split(" ")[0];
            for (SerializeType type : SerializeType.values()) {
                RemotingCommand command = RemotingCommand.createRequestCommand(310, fill(find(name)));
                command.setLanguage(LanguageCode.GO);
                command.setVersion(407);
                command.setOpaque(opaque++);
                command.setFlag(2);
                command.setRemark("é\n\"日");
                command.addExtField("more", "x");
                command.setBody(new byte[] {0, 1, -1});
                command.setSerializeTypeCurrentRPC(type);
                System.out.println(name + " " + type + " " + hex(command.encode()));
            }
        }
        for (SerializeType type : SerializeType.values()) {
            RemotingCommand command = RemotingCommand.createResponseCommand(0, null);
            command.setOpaque(opaque++);
            command.setSerializeTypeCurrentRPC(type);
            System.out.println("- " + type + " " + hex(command.encode()));
        }
    }

    static Class<?> find(String name) throws ClassNotFoundException {
        for (String folder : new String[] {"", "namesrv.", "filtersrv."}) {
            try {
                return Class.forName(HEADERS + folder + name);
            } catch (ClassNotFoundException e) {
                continue;
            }
        }
        throw new ClassNotFoundException(name);
    }

    static CommandCustomHeader fill(Class<?> kind) throws Exception {
        Object header = kind.getDeclaredConstructor().newInstance();
        for (Class<?> one = kind; one != Object.class; one = one.getSuperclass()) {
            for (Field field : one.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers())) {
                    continue;
                }
                field.setAccessible(true);
                Class<?> type = field.getType();
                if (type == String.class) {
                    field.set(header, "é " + field.getName());
                } else if (type == int.class || type == Integer.class) {
                    field.set(header, -7);
                } else if (type == long.class || type == Long.class) {
                    field.set(header, 1L << 40);
                } else if (type == boolean.class || type == Boolean.class) {
                    field.set(header, true);
                }
            }
        }
        return (CommandCustomHeader) header;
    }

    static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return UtilAll.bytes2string(bytes);
    }
}
