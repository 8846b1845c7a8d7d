package checks;

import java.util.Map;
import java.util.concurrent.Callable;

/** What the checks of both clients need. NAMESPACE is where they happen, IMAGE is what pods run. */
final class Checks {
    static final String NAMESPACE = System.getenv().getOrDefault("NAMESPACE", "default");
    static final String IMAGE = System.getenv().getOrDefault("IMAGE", "");
    static final String WEB_PAGE = "mkdir -p /tmp/www && echo page > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www";

    interface Check {
        void run() throws Exception;
    }

    static void expect(boolean condition, Object found) {
        if (!condition) throw new AssertionError(String.valueOf(found));
    }

    static void expectEqual(Object found, Object wanted) {
        expect(wanted.equals(found), "found " + found + ", not " + wanted);
    }

    static void eventually(Callable<Boolean> attempt, String what) throws Exception {
        for (long end = System.nanoTime() + 40_000_000_000L; !attempt.call(); Thread.sleep(100)) {
            expect(System.nanoTime() < end, what + " did not happen in time");
        }
    }

    /** Runs the check that the command line names: it ends with 1 and says why when it fails. */
    static void run(Map<String, Check> checks, String[] words) {
        Check check = words.length == 1 ? checks.get(words[0]) : null;
        if (check == null) {
            System.err.println("usage: one of " + String.join(" ", checks.keySet()));
            System.exit(2);
        }
        try {
            check.run();
        } catch (Throwable error) { // a failed assertion is no Exception
            System.err.println(words[0] + ": " + error);
            error.printStackTrace();
            System.exit(1);
        }
        System.exit(0); // whatever threads the client has left
    }
}
