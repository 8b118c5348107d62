import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.parser.Feature;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/**
 * Answers each line of stdin, a JSON array ["read", text] or ["write", tree], with the same array
 * and what fastjson makes of it behind. How to run it stands in fastjson_cases.txt.
 */
public class FastjsonCases {
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.isEmpty() || line.startsWith("#")) {
                out.println(line);
                continue;
            }
            List<Object> answer = new ArrayList<>(JSON.parseArray(line).subList(0, 2));
            if (answer.get(0).equals("read")) {
                answer.add(read((String) answer.get(1)));
            } else {
                Object tree = JSON.parse(line, Feature.OrderedField);
                tree = ((List<?>) tree).get(1);
                answer.set(1, tree);
                answer.add(JSON.toJSONString(build(tree, false)));
                answer.add(JSON.toJSONString(build(tree, false), true));
                answer.add(JSON.toJSONString(build(tree, true), SerializerFeature.BrowserCompatible,
                    SerializerFeature.QuoteFieldNames, SerializerFeature.SkipTransientField,
                    SerializerFeature.MapSortField));
            }
            out.println(ascii(JSON.toJSONString(answer, SerializerFeature.WriteMapNullValue,
                SerializerFeature.DisableCircularReferenceDetect)));
        }
    }

    /** Half a surrogate pair would not survive UTF-8. */
    static String ascii(String json) {
        StringBuilder text = new StringBuilder();
        for (char c : json.toCharArray()) {
            text.append(c < 0x7f ? String.valueOf(c) : String.format("\\u%04x", (int) c));
        }
        return text.toString();
    }

    /** What was read, each value with its type; objects as lists of pairs, their keys as strings. */
    static Object read(String text) {
        try {
            return tag(JSON.parse(text, Feature.OrderedField));
        } catch (RuntimeException | StackOverflowError e) {
            return "error";
        }
    }

    static Object tag(Object value) {
        List<Object> tagged = new ArrayList<>();
        if (value instanceof Map) {
            tagged.add("object");
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                List<Object> pair = new ArrayList<>();
                pair.add(String.valueOf(entry.getKey()));
                pair.add(tag(entry.getValue()));
                tagged.add(pair);
            }
        } else if (value instanceof Collection) {
            tagged.add(value instanceof List ? "array" : "set");
            for (Object one : (Collection<?>) value) {
                tagged.add(tag(one));
            }
        } else if (value instanceof BigDecimal || value instanceof Double || value instanceof Float) {
            tagged.add("decimal");
            tagged.add(value.toString());
        } else if (value instanceof Number) {
            tagged.add("integer");
            tagged.add(value.toString());
        } else if (value instanceof String || value instanceof Boolean || value == null) {
            return value;
        } else {
            tagged.add(value.getClass().getSimpleName());
            tagged.add(String.valueOf(value));
        }
        return tagged;
    }

    /** The tree with its marks taken for what they are: a key "#1" is 1, "#{..}" an object. */
    static Object build(Object tree, boolean hashed) {
        if (tree instanceof Map) {
            Map<?, ?> map = (Map<?, ?>) tree;
            if (map.containsKey("#set")) {
                return new LinkedHashSet<>((Collection<?>) build(map.get("#set"), hashed));
            }
            Map<Object, Object> built = hashed ? new HashMap<>() : new LinkedHashMap<>();
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                String key = (String) entry.getKey();
                Object real = key;
                if (key.startsWith("#{")) {
                    real = JSON.parse(key.substring(1), Feature.OrderedField);
                } else if (key.startsWith("#")) {
                    real = JSON.parse(key.substring(1));
                }
                built.put(real, build(entry.getValue(), hashed));
            }
            return built;
        }
        if (tree instanceof List) {
            List<Object> built = new ArrayList<>();
            for (Object one : (List<?>) tree) {
                built.add(build(one, hashed));
            }
            return built;
        }
        return tree instanceof BigDecimal ? (Object) ((BigDecimal) tree).doubleValue() : tree;
    }
}
