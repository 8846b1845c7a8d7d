package checks;

import static checks.Checks.IMAGE;
import static checks.Checks.NAMESPACE;
import static checks.Checks.eventually;
import static checks.Checks.expect;
import static checks.Checks.expectEqual;

import com.google.gson.reflect.TypeToken;
import io.kubernetes.client.Exec;
import io.kubernetes.client.PodLogs;
import io.kubernetes.client.PortForward;
import io.kubernetes.client.custom.V1Patch;
import io.kubernetes.client.informer.SharedIndexInformer;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1Container;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.openapi.models.V1Pod;
import io.kubernetes.client.openapi.models.V1PodSpec;
import io.kubernetes.client.util.Config;
import io.kubernetes.client.util.PatchUtils;
import io.kubernetes.client.util.Watch;
import io.kubernetes.client.util.generic.GenericKubernetesApi;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What people do with the official Java client, each as one check. */
public final class Official {
    private static final ApiClient CLIENT = client();
    private static final CoreV1Api CORE = new CoreV1Api(CLIENT);

    private static ApiClient client() {
        try {
            ApiClient client = Config.defaultClient();
            return client.setReadTimeout(0);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static V1ConfigMap configMap(String name, Map<String, String> data) {
        return new V1ConfigMap().apiVersion("v1").kind("ConfigMap")
            .metadata(new V1ObjectMeta().name(name).namespace(NAMESPACE).labels(Map.of("check", "java"))).data(data);
    }

    private static V1ConfigMap create(String name) throws ApiException {
        return CORE.createNamespacedConfigMap(NAMESPACE, configMap(name, Map.of("a", "1"))).execute();
    }

    private static V1ConfigMap read(String name) throws ApiException {
        return CORE.readNamespacedConfigMap(name, NAMESPACE).execute();
    }

    private static ApiException refused(int code, Checks.Check call) throws Exception {
        try {
            call.run();
        } catch (ApiException error) {
            expectEqual(error.getCode(), code);
            return error;
        }
        throw new AssertionError("not refused with " + code);
    }

    private static V1ConfigMap patch(String name, String format, String text, String manager) throws ApiException {
        return PatchUtils.patch(V1ConfigMap.class,
            () -> CORE.patchNamespacedConfigMap(name, NAMESPACE, new V1Patch(text)).fieldManager(manager).buildCall(null), format, CLIENT);
    }

    private static void startPod(String name, String script) throws Exception {
        V1Container main = new V1Container().name("main").image(IMAGE).command(List.of("sh", "-c", script));
        CORE.createNamespacedPod(NAMESPACE, new V1Pod().metadata(new V1ObjectMeta().name(name))
            .spec(new V1PodSpec().terminationGracePeriodSeconds(1L).addContainersItem(main))).execute();
        eventually(() -> "Running".equals(CORE.readNamespacedPod(name, NAMESPACE).execute().getStatus().getPhase()), name + " running");
    }

    private static void objects() throws Exception {
        V1ConfigMap made = create("one");
        patch("one", V1Patch.PATCH_FORMAT_JSON_MERGE_PATCH, "{\"data\":{\"b\":\"2\"}}", null);
        patch("one", V1Patch.PATCH_FORMAT_JSON_PATCH, "[{\"op\":\"remove\",\"path\":\"/data/a\"}]", null);
        patch("one", V1Patch.PATCH_FORMAT_STRATEGIC_MERGE_PATCH, "{\"data\":{\"c\":\"3\"}}", null);
        refused(409, () -> CORE.replaceNamespacedConfigMap("one", NAMESPACE, made).execute());
        expectEqual(read("one").getData(), Map.of("b", "2", "c", "3"));
        ApiException error = refused(422, () -> create("Not_A_Name"));
        expect(error.getResponseBody().contains("\"field\":\"metadata.name\""), error.getResponseBody());
        CORE.deleteNamespacedConfigMap("one", NAMESPACE).execute();
        refused(404, () -> read("one"));
    }

    private static void pages() throws Exception {
        for (int number = 0; number < 7; ++number) create("page-" + number);
        List<Integer> sizes = new ArrayList<>();
        String next = null;
        do {
            V1ConfigMapList page = CORE.listNamespacedConfigMap(NAMESPACE).labelSelector("check=java").limit(3)._continue(next).execute();
            sizes.add(page.getItems().size());
            next = page.getMetadata().getContinue();
        } while (next != null && !next.isEmpty());
        expectEqual(sizes, List.of(3, 3, 1));
    }

    private static void watching() throws Exception {
        String version = CORE.listNamespacedConfigMap(NAMESPACE).execute().getMetadata().getResourceVersion();
        create("seen");
        CORE.deleteNamespacedConfigMap("seen", NAMESPACE).execute();
        List<String> verbs = new ArrayList<>();
        try (Watch<V1ConfigMap> watch = Watch.createWatch(CLIENT,
            CORE.listNamespacedConfigMap(NAMESPACE).resourceVersion(version).timeoutSeconds(20).watch(true).buildCall(null),
            new TypeToken<Watch.Response<V1ConfigMap>>() {}.getType())) {
            for (Watch.Response<V1ConfigMap> event : watch) {
                verbs.add(event.type);
                if (event.type.equals("DELETED")) break;
            }
        }
        expectEqual(verbs, List.of("ADDED", "DELETED"));
    }

    private static void informer() throws Exception {
        create("before");
        SharedInformerFactory factory = new SharedInformerFactory(CLIENT);
        GenericKubernetesApi<V1ConfigMap, V1ConfigMapList> api =
            new GenericKubernetesApi<>(V1ConfigMap.class, V1ConfigMapList.class, "", "v1", "configmaps", CLIENT);
        SharedIndexInformer<V1ConfigMap> informer = factory.sharedIndexInformerFor(api, V1ConfigMap.class, 0, NAMESPACE);
        factory.startAllRegisteredInformers();
        eventually(informer::hasSynced, "the cache is in step");
        create("after");
        eventually(() -> informer.getIndexer().getByKey(NAMESPACE + "/after") != null, "the new one in the cache");
        CORE.deleteNamespacedConfigMap("before", NAMESPACE).execute();
        eventually(() -> informer.getIndexer().getByKey(NAMESPACE + "/before") == null, "the deletion in the cache");
        factory.stopAllRegisteredInformers();
    }

    private static void apply() throws Exception {
        String text = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"shared\"},\"data\":{\"%s\":\"%s\"}}";
        patch("shared", V1Patch.PATCH_FORMAT_APPLY_YAML, text.formatted("a", "1"), "first");
        patch("shared", V1Patch.PATCH_FORMAT_APPLY_YAML, text.formatted("b", "2"), "second");
        ApiException error = refused(409, () -> patch("shared", V1Patch.PATCH_FORMAT_APPLY_YAML, text.formatted("a", "3"), "third"));
        expect(error.getResponseBody().contains("conflict with \\\"first\\\""), error.getResponseBody());
        expectEqual(read("shared").getData(), Map.of("a", "1", "b", "2"));
    }

    private static void execution() throws Exception {
        startPod("box", "sleep 1000");
        String[] command = {"sh", "-c", "read line; echo got $line; echo complaint >&2; exit 3"};
        Process running = new Exec(CLIENT).exec(NAMESPACE, "box", command, "main", true, false);
        InputStream output = running.getInputStream(); // none is given out once the command has ended
        InputStream errors = running.getErrorStream();
        running.getOutputStream().write("words\n".getBytes(StandardCharsets.UTF_8));
        running.getOutputStream().flush();
        expect(running.waitFor(20, TimeUnit.SECONDS), "it did not end");
        expectEqual(new String(output.readAllBytes(), StandardCharsets.UTF_8), "got words\n");
        expectEqual(new String(errors.readAllBytes(), StandardCharsets.UTF_8), "complaint\n");
        expectEqual(running.exitValue(), 3);
    }

    private static void logs() throws Exception {
        startPod("talk", "for i in 1 2 3; do echo line $i; sleep 0.3; done");
        List<String> lines = new ArrayList<>();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
            new PodLogs(CLIENT).streamNamespacedPodLog(NAMESPACE, "talk", "main"), StandardCharsets.UTF_8))) {
            for (String line; (line = reader.readLine()) != null;) lines.add(line);
        }
        expectEqual(lines, List.of("line 1", "line 2", "line 3"));
    }

    private static void forwarding() throws Exception {
        startPod("web", Checks.WEB_PAGE);
        eventually(() -> {
            PortForward.PortForwardResult forward = new PortForward(CLIENT).forward(NAMESPACE, "web", List.of(8080));
            forward.getOutboundStream(8080).write("GET / HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.UTF_8));
            BufferedReader answer = new BufferedReader(new InputStreamReader(forward.getInputStream(8080), StandardCharsets.UTF_8));
            for (String line; (line = answer.readLine()) != null;)
                if (line.equals("page")) return true;
            return false;
        }, "the page");
    }

    public static void main(String[] words) {
        Map<String, Checks.Check> checks = new LinkedHashMap<>();
        checks.put("objects", Official::objects);
        checks.put("pages", Official::pages);
        checks.put("watching", Official::watching);
        checks.put("informer", Official::informer);
        checks.put("apply", Official::apply);
        checks.put("execution", Official::execution);
        checks.put("logs", Official::logs);
        checks.put("forwarding", Official::forwarding);
        Checks.run(checks, words);
    }
}
