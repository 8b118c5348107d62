import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ShopTest {
    static FakemqCluster mq;

    @BeforeAll
    static void start() throws Exception {
        mq = new FakemqCluster("--topic", "orders:4");
    }

    @AfterAll
    static void stop() throws Exception {
        mq.close();
    }

    @BeforeEach
    void reset() throws Exception {
        mq.post("/v1/reset", "{}");
    }

    @Test
    void orderIsReceived() throws Exception {
        try (Shop shop = new Shop(mq.namesrvAddr)) {
            shop.order("tea", 0);
            assertEquals("tea", shop.received.poll(30, TimeUnit.SECONDS));
        }
    }

    @Test
    void orderForLaterIsReceivedAfterTwoHours() throws Exception {
        mq.post("/v1/clock/freeze", "{}");
        try (Shop shop = new Shop(mq.namesrvAddr)) {
            shop.order("tea", 18);
            assertNull(shop.received.poll());
            mq.post("/v1/clock/advance", "{\"duration\": \"2h\"}");
            assertEquals("tea", shop.received.poll(30, TimeUnit.SECONDS));
        }
    }
}
