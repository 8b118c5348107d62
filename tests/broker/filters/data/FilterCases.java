import com.alibaba.fastjson.JSON;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.rocketmq.broker.filter.ConsumerFilterManager;
import org.apache.rocketmq.broker.filter.MessageEvaluationContext;
import org.apache.rocketmq.filter.FilterFactory;
import org.apache.rocketmq.filter.expression.Expression;
import org.apache.rocketmq.filter.expression.MQFilterException;
import org.apache.rocketmq.filter.util.BloomFilter;

/** Prints what java_filters.txt holds; how to run it stands there. */
public class FilterCases {
    static final String[] BY_HAND = {
        // what cannot be: nothing, or not a condition
        "", " ", "\t", "\n", "\r\n", "a", "5", "5.5", "'a'", "-a", "+a", "-5", "+5", "NULL", "TRUE", "FALSE", "true", "NoT true",
        "not a", "not 5", "not 'a'", "not null", "not -a", "(a)", "((a))", "(5)", "a and b", "a and 5", "5 and a", "a or 'x'",
        "- - a", "-(-5)", "-(a)", "a and not b", "not not a", "(a and b) or (b and a)",
        // equality
        "a = 'x'", "a = 5", "5 = a", "a = b", "a <> b", "a <> 'x'", "a = TRUE", "a = true", "true = a", "false <> a", "a = NULL", "NULL = a",
        "a <> NULL", "TRUE = FALSE", "TRUE = TRUE", "TRUE = 5", "5 = TRUE", "TRUE = 'true'", "'true' = TRUE", "'TRUE' = TRUE", "'x' = TRUE", "5 = 5",
        "5 = 5L", "5l = 5", "5 = 5.0", "5.0 = 5", "5L = 5.0", "'5' = 5", "5 = '5'", "'5' = 5L", "'5' = 5.0", "5.0 = '5'", "'x' = 5", "5 = 'x'", "5L = '5'", "5 <> 6",
        "a = b = c", "(a = b) = (b = c)", "a = (b = c)", "(a = 'x') = TRUE", "a = 'x' <> FALSE", "a = -5", "a = -(-5)", "a = - - 5", "a = +5", "a = + + 5", "a = +-5", "a = -+5", "a = -b", "-b = a",
        "a = 3000000000", "a = 3000000000L", "a = 2147483647", "a = 2147483648", "a = -2147483648", "a = -2147483649",
        "a = 9223372036854775807", "a = 9223372036854775808", "a = -9223372036854775808", "a = -9223372036854775807", "a = 99999999999999999999999L",
        "a = 1e3", "a = 1E+3", "a = 1e-3", "a = 1.e3", "a = .5", "a = .5e1", "a = 5.", "a = 0", "a = 00", "a = 012", "a = 0L", "a = 0.0", "a = 0.", "a = .0e5", "a = 1e400", "a = 1e-400", "a = 5e-324", "a = 1.7976931348623157e308",
        "a = 1.0e23", "a = 123456789.125", "a = 0.001", "a = 0.0001", "a = 9007199254740993", "9007199254740993 = 9007199254740992.0",
        "a == 5", "a != 5", "a => 5", "a =< 5", "a < > 5", "a > = 5", "a = = 5", "= a", "a =", "a = )", "a = (", "a = ()", "()", "(", ")",
        // order
        "a > 5", "a >= 5", "a < 5", "a <= 5", "5 > a", "5 >= a", "5 < a", "5 <= a", "a > 5.5", "a > 5L", "a > 3000000000", "5.5 < a", "3000000000 < a", "a > b", "a >= b", "a < b", "a <= b",
        "a > 'x'", "'x' > a", "a > TRUE", "a > NULL", "NULL < a", "a > (b > c)", "a > b > c", "(a = b) > c", "a > -5", "-5 < a", "a > -b", "-b < 5", "5 > 4", "5 > 4.5", "5L >= 5", "4.5 < 5L", "5 > 3000000000", "a > (b)", "(a) > (5)",
        "a > not b", "not a > 5", "not (a > 5)", "not a = 5", "not (a = 5)",
        // between
        "a between 1 and 5", "a BETWEEN 5 AND 1", "a between 5 and 5", "a between -1 and 5", "a between 5 and -1", "a between 1.5 and 5", "a between 1 and 5L", "a between 5.5 and 5", "a between 3000000000 and 5", "a between b and c", "a between 1 and b", "a between b and 1",
        "a between 'a' and 'b'", "a between 'b' and 'a'", "a between 'x' and 5", "a between 5 and 'x'", "a between '1' and 5", "a between 5 and '1'", "a between TRUE and FALSE", "a between FALSE and TRUE", "a between TRUE and 'x'", "a between 'x' and TRUE", "a between 'true' and TRUE", "a between TRUE and 5", "a between 5 and TRUE", "a between NULL and 5", "a between 5 and NULL",
        "a between '' and 5", "a between 5 and ''", "a between ' 5' and 6.5", "a between 5.5 and '7d'", "a between 5.5 and 'x'", "a between 5.5 and ''", "a between 5.5 and ' '", "a between '' and ''",  "a between 1e22 and 1.5e-5", "a between 3000000000 and 'x'", "a between 3000000000 and '5'",
        "a not between 1 and 5", "a NOT BETWEEN 5 AND 1", "a not between 'a' and 'b'", "a not between b and c", "a not between TRUE and 5", "a not between NULL and 5", "not a between 1 and 5", "5 between 1 and a", "5 between a and 10", "5 between 1 and 10", "5 not between 1 and 10",
        "a between 1 or 5", "a between 1", "a between 1 and", "a between and 5", "a between", "between 1 and 5", "a not between 1", "a not between", "a between 1 and 5 and b = 1", "a between 1 and 5 or b", "a between (1) and (5)", "a between 1 and 5 > 3", "a between 1 and 5 = TRUE", "a between 1 and 5 between 1 and 5", "a not 5", "a not", "a not in", "a not is null", "a not = 5", "a not null",
        // in
        "a in ('x')", "a IN ('x', 'y')", "a in ('x','y','z','5','true')", "a not in ('x')", "a NOT IN ('x', 'y', 'z', '5', 'true', '')", "a in ()", "a in", "a in (", "a in 'x'", "a in (5)", "a in (b)", "a in ('x', 5)", "a in ('x',)", "a in ('x'", "a in ('x' 'y')", "a in ('x') and b", "5 in ('5')", "'x' in ('x')", "(a) in ('x')", "-a in ('x')", "not a in ('x')", "(a = 5) in ('x')", "(a and b) not in ('x')", "TRUE in ('x')", "NULL in ('x')", "a in ('x') in ('y')", "a in ('x') = TRUE", "a in ('x') > 5", "a in ('it''s', '''')", "a in ('b','a','c','e','d','f','g') > 5", "a in ('TagA','TagB','TagC','TagD','TagE','TagF','TagG','TagH','TagI','TagJ','TagK','TagL','TagM','TagN') > 5", "a in ('x','y') > 5", "a not in ('x','x','x','x','x') > 5", "a not ('x')", "a is in ('x')",
        // null
        "a is null", "a IS NOT NULL", "5 is null", "5 is not null", "NULL is null", "NULL is not null", "TRUE is null", "(a = b) is null", "a is null is null", "a is null = TRUE", "a is not null and b is null", "a is", "a is not", "a is 5", "a is not 5", "a is true", "is null", "a isnull", "a is null null", "-a is null", "(a is null) > 5", "not a is null", "a = b is null", "a > 5 is null", "(a > 5) is not null", "a is null or b is null", "a null",
        // precedence
        "a = 5 and b = 5 or c = 5", "a = 5 or b = 5 and c = 5", "(a = 5 or b = 5) and c = 5", "a and b and c", "a or b or c", "a or b and c or a", "not a and b", "not (a and b)", "a and or b", "and a", "or", "a and", "a or", "(a", "a)", "(a))", "((a)", "(a b", "(a 5", "(a = 5 b", "(a and b c", "(a or b c", "(a is null c", "(a > 5 c", "(a in ('x') c", "(a between 1 and 2 c", "(not a c", "(-a c", "(a,b)", "a, b",
        "(a and b) > 5", "(a or b and c) > 5", "(a and b and c or a) > 5", "(not a) > 5", "(a is not null) > 5", "(a <> b) > 5", "(a >= b) > 5", "(a < -b) > 5", "(a between 1 and 2) > 5", "(a not between 1.5 and 2.5e10) > 5", "(a = 'it''s') > 5", "(a = TRUE) > 5", "(NULL is null) > 5", "(a = 5L) > 5", "(a = 3000000000) > 5", "(a = 1e7) > 5", "(a = 1.25e-10) > 5", "(a = 100.0) > 5", "(a = 12345678.9) > 5", "TRUE > 5", "'it''s' < 5", "NULL >= 5", "a > 'é'", "a > 'x\ny'", "a > '\uD83D\uDE00'",
        // what stands behind a condition is nobody's business
        "a = 5 b", "a = 5 b = 6", "a = 5 5", "a = 5 )", "a = 5 'x'", "a = 5 'x", "a = 5 @", "a = 5 b @", "a = 5 (", "a = 5 ,", "a = 5 -", "a = 5 +", "a = 5 -- c", "a = 5 -- c\n", "a = 5 /* c", "a = 5 /* c */", "a = 5 . b", "TRUE FALSE", "a b", "a 'x'", "5 b", "a - 5", "a + 5 = 10", "a * 5 = 10", "a / 5 = 10", "a % 5 = 1", "a like 'x%'", "a contains 'x'", "a = 5;", "a = 5 && b = 5", "a || b", "!a",
        // lexing
        "A = 'x'", "$a = 'x'", "_a = 'x'", "a$_9 = 'x'", "9a = 'x'", "a.b = 'x'", "a-b = 'x'", "`a` = 'x'", "\"a\" = 'x'", "a = \"x\"", "ä = 'x'", "a = 'ä'", "aä", "a = 'x", "a = 'x'''", "a = ''", "a = ''''", "a = '''", "a = 'it''s'", "a = 'x' 'y'", "a = 'x''", "a='x'", "a='x'and b='y'", "a=5and b=5", "a=5or b", "a=5.and b", "a=5e and b", "a=5l and b", "a=5e5l", "a='x\ny'", "a = 'x\n", "a =\n5", "a =\n\n  )", "a =\r\n  )", "a =\r)", "a =\t)", "a\t=\t\t)", "\t\t)", "a = -- c\n 5", "a = -- c\r\n 5", "a = -- c\r 5", "a = -- c 5", "a --b", "a = 5 --\n and b", "-- c", "-- c\n", "-- c\na", "a /* c */ = 5", "a = /**/ 5", "a = /***/ 5", "a = /* * / */ 5", "a = /* /* */ 5", "a = /*/ 5", "a = /* c * 5", "a = /", "a = / 5", "a = /\n", "/", "*", "a = *", "a = .", "a = . 5", "a = .\n", "a = .e5", "a = 5e", "a = 5e+", "a = 5e+x", "a = 5.5.5", "a = ..5", "@", "a = @", "a = @ ", "a = @\n", "a = \n@", "a = \n@\n", "a = \r@", "a = '", "a = '\n", "a = '\t'x", "a = #5", "a = 5#", "a = 0x10", "a = 010", "a = 1_000", "a = ?", "a = :b", "a = {b}", "a = [b]", "a ~ b", "a ^ b", "a & b", "a | b", "a \\ b", "a\u00a0= 5", "a = 5\u00a0", "a = '\u00a0'", "\uFEFFa = 5", "a = \uD83D\uDE00", "\uD83D\uDE00", "a = '\uD83D\uDE00' = @", "a = '\uD83D\uDE00", "a\0= 5", "a = '\0' = @", "a = '\0", "a\b= 5", "a\f= 5", "a\u000b= 5", "a = '\"\\\b\f\t\r\n' 'x", "a = \u0130", "\u212A = 5", "\u017F = 5", "a \u0131n ('x')", "\u0130N", "NOTa", "not_a = 'x'", "nota", "in", "IN = 5", "is = 5", "null1 = 5", "truex", "betweena = 5", "a BETWEEN1 AND 2", "a IN('x')", "a in('x')and b", "NOT(a)", "NOT(a)AND(b)", "TAGS = 'x'", "tags = 'x'", "KEYS is not null", "__a = 5", "a1 = 5", "a 1", "1 a", "+ )", "+ ( a b", "+ + )", "+ @", "+ ( a @", "+ ( a = 5 ) > 3", "+(a)", "+ not a", "not + a", "+ 'x'", "+ null is null", "+", "-", "+ (a > 'x'", "+ (a > 'x')", "+ (5 and a) = )", "a = + (b > 'x') )", "a = + (b", "- )", "not )", "not", "a = not", "a in ( + 'x')", "a = + 5 between 1 and 2", "+5 = a", "+ a in ('x')", "(+ a) in ('x')",
    };

    static final String[] VALUES = {null, "", "x", "y", "5", "-5", "5.5", "true", "TRUE", "3000000000", "1e3", "NaN"};
    static final String[] ODD_VALUES = {"+5", " 5", "5 ", "05", "-0", "-0.0", "0", "Infinity", "-Infinity", "0x1p3", "5d", "5F", "5L", "1_000", "\u0665", "\uFF15", "9223372036854775808", "99999999999999999999", "1e400", "it's", "\u00e9", "2147483648", "-2147483648", ".5", "5.", "e5", "+", "-", "tRuE", "yes"};

    static final String[] NUMBERS = {
        "", " ", "+", "-", ".", "0", "-0", "+0", "00", "007", "5", "+5", "-5", "--5", "5 ", " 5", "5\n", "\u001f5\u0000", "\u00a05", "5L", "5l", "1_0", "0x10", "010", "1,000",
        "2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
        "00000000000000000005", "\u0665", "\uFF15", "\u0665.\u0665", "\uD835\uDFD3", "\u00b2", "\u00bd", "\u4e94",
        "5.", ".5", "5.5", "-5.5", "+5.5", "5.5.5", "5e5", "5E5", "5e+5", "5e-5", "5e", "e5", ".e5", "5.e5", "1e308", "1e309", "-1e309", "1e-324",
        "1.5d", "1.5D", "1.5f", "1.5F", "1d", "d", "1.5dd", "1e5f", "NaN", "-NaN", "+NaN", " NaN ", "nan", "NaNd", "Infinity", "-Infinity", "+Infinity", "infinity", "inf", "Infinityf",
        "0x1p3", "0X1P3", "0x1.8p1", "0x.8p1", "0x1.p1", "0x.p1", "0x1", "0x1.8", "-0x1p-3", "0x1p3d", "0x1p5000", "-0x1p5000", "0xp3",
        "100", "1234567.5", "9999999", "10000000", "12345678.9", "0.001", "0.00099", "0.1", "1e7", "1e21", "1e22", "1.7976931348623157e308", "2.2250738585072014e-308", "3.141592653589793", "123456789012345680", "0.3", "1e-5", "1.0e-10",
    };

    static final List<Map<String, String>> PROPERTIES = new ArrayList<>();

    static {
        for (int at = 0; at < VALUES.length; at++) {
            PROPERTIES.add(map("a", VALUES[at], "b", VALUES[(at * 7 + 3) % VALUES.length], "c", VALUES[(at * 5 + 1) % VALUES.length]));
        }
        for (int at = 0; at < ODD_VALUES.length; at++) {
            PROPERTIES.add(map("a", ODD_VALUES[at], "b", at % 3 == 0 ? "5" : ODD_VALUES[(at * 7 + 3) % ODD_VALUES.length], "c", at % 2 == 0 ? null : "true"));
        }
        PROPERTIES.add(map("a", "x", "b", "x", "c", "5"));
        PROPERTIES.add(map("A", "x", "TAGS", "x", "KEYS", "k1 k2", "$a", "x", "_a", "x"));
    }

    static Map<String, String> map(String... pairs) {
        Map<String, String> map = new LinkedHashMap<>();
        for (int at = 0; at < pairs.length; at += 2) {
            if (pairs[at + 1] != null) {
                map.put(pairs[at], pairs[at + 1]);
            }
        }
        return map;
    }

    // -- made up, the same ones in every run ---------------------------------------------------

    static final Random RANDOM = new Random(497);

    static String one(String... of) {
        return of[RANDOM.nextInt(of.length)];
    }

    static String literal() {
        return one("5", "-5", "5.5", "'x'", "'5'", "'5.5'", "'true'", "TRUE", "false", "3000000000", "1e3", "'it''s'", "0", "4", "6L", "NULL");
    }

    static String operand(int depth) {
        int kind = RANDOM.nextInt(10);
        if (kind < 6) {
            return one("a", "b", "c");
        }
        if (kind < 9 || depth == 0) {
            return literal();
        }
        return one("-", "+", "") + "(" + condition(depth - 1) + ")";
    }

    static String number() {
        return one("5", "-5", "5.5", "3000000000", "1e3", "4", "6L", "a", "b", "c");
    }

    static String condition(int depth) {
        switch (RANDOM.nextInt(depth == 0 ? 7 : 11)) {
            case 0:
                return operand(0) + one(" = ", " <> ") + operand(depth);
            case 1:
            case 2:
                return number() + one(" > ", " >= ", " < ", " <= ") + number();
            case 3:
                return one("a", "b", "c") + one(" ", " NOT ") + "IN (" + one("'x'", "'x', '5'", "'y', 'true', '5.5'", "'x','y','5','-5','TRUE','1e3'") + ")";
            case 4:
                return operand(0) + one(" IS NULL", " IS NOT NULL");
            case 5:
                return number() + one(" ", " NOT ") + "BETWEEN " + number() + " AND " + number();
            case 6:
                return one("a", "b", "c", "TRUE", "FALSE", "NULL");
            case 7:
                return "NOT (" + condition(depth - 1) + ")";
            case 8:
                return condition(depth - 1) + " AND " + condition(depth - 1);
            case 9:
                return condition(depth - 1) + " OR " + condition(depth - 1);
            default:
                return "(" + condition(depth - 1) + ")";
        }
    }

    static String soup() {
        StringBuilder text = new StringBuilder();
        for (int left = 1 + RANDOM.nextInt(9); left > 0; left--) {
            text.append(one("a", "b", "5", "5.5", "'x'", "NOT", "AND", "OR", "BETWEEN", "IN", "TRUE", "NULL", "IS", "=", "<>", ">", ">=", "<", "<=", "(", ",", ")", "+", "-", "(", "a", "a"));
            text.append(one(" ", " ", " ", "", "\n", "\t", " /**/ "));
        }
        return text.toString();
    }

    static String broken(String text) {
        for (int left = 1 + RANDOM.nextInt(2); left > 0; left--) {
            int at = RANDOM.nextInt(text.length() + 1);
            String rest = text.substring(Math.min(text.length(), at + RANDOM.nextInt(3)));
            text = text.substring(0, at) + one("", "", "", "@", "'", ")", "(", " ", "\n", "/", "*", "--", "/*", ".", "-", "e", "9", "L", "\u00e9") + rest;
        }
        return text;
    }

    static Set<String> expressions() {
        Set<String> texts = new LinkedHashSet<>(Arrays.asList(BY_HAND));
        for (int left = 0; left < 1500; left++) {
            texts.add(condition(left % 4));
        }
        for (int left = 0; left < 600; left++) {
            texts.add(soup());
        }
        for (int left = 0; left < 900; left++) {
            texts.add(broken(condition(left % 3)));
        }
        return texts;
    }

    // -- what becomes of them ------------------------------------------------------------------

    static char evaluated(Expression expression, Map<String, String> properties) {
        try {
            Object value = expression.evaluate(new MessageEvaluationContext(properties));
            return value == null ? 'N' : (Boolean) value ? 'T' : 'F';
        } catch (Exception e) {
            return '!';
        }
    }

    static String said(Supplier<Object> number) {
        try {
            return number.get().toString();
        } catch (NumberFormatException e) {
            return "!";
        }
    }

    public static void main(String[] args) {
        for (Map<String, String> properties : PROPERTIES) {
            System.out.println("properties " + JSON.toJSONString(properties));
        }
        for (String text : NUMBERS) {
            System.out.println("number " + JSON.toJSONString(text) + " " + said(() -> Integer.valueOf(text)) + " "
                + said(() -> Long.valueOf(text)) + " " + said(() -> Double.valueOf(text)));
        }
        Map<String, Integer> expected = new LinkedHashMap<>();
        for (String text : expressions()) {
            String name = JSON.toJSONString(text);
            try {
                Expression expression = FilterFactory.INSTANCE.get("SQL92").compile(text);
                StringBuilder values = new StringBuilder();
                for (Map<String, String> properties : PROPERTIES) {
                    values.append(evaluated(expression, properties));
                }
                System.out.println("expression " + name + " " + values);
            } catch (MQFilterException e) {
                String message = e.getMessage();
                int at = message.indexOf("\nWas expecting");
                if (at < 0) {
                    System.out.println("error " + name + " " + JSON.toJSONString(message));
                } else {
                    Integer number = expected.get(message.substring(at));
                    if (number == null) {
                        number = expected.size();
                        expected.put(message.substring(at), number);
                        System.out.println("expecting " + number + " " + JSON.toJSONString(message.substring(at)));
                    }
                    System.out.println("error " + name + " " + JSON.toJSONString(message.substring(0, at)) + " " + number);
                }
            }
        }
        for (int[] fn : new int[][] {{20, 32}, {20, 64}, {10, 128}, {1, 1000}, {99, 1}, {50, 7}}) {
            BloomFilter filter = BloomFilter.createByFn(fn[0], fn[1]);
            for (String text : new String[] {"billing#orders", "", "a", "0123456789abcdef", "0123456789abcdef0", "g#" + "x".repeat(127), "日本#語", "CID_1#%RETRY%CID_1"}) {
                System.out.println("bloom " + fn[0] + " " + fn[1] + " " + JSON.toJSONString(text) + " " + JSON.toJSONString(filter.generate(text)));
            }
        }
        ConsumerFilterManager manager = new ConsumerFilterManager();
        manager.register("orders", "billing", "a > 5", "SQL92", 3);
        manager.register("orders", "shipping", "a IS NULL", "SQL92", 4);
        manager.unRegister("shipping");
        System.out.println("table " + manager.encode().replaceAll("Time\":\\d{13}", "Time\":7"));
    }
}
