package checks;

import static checks.Checks.IMAGE;
import static checks.Checks.NAMESPACE;
import static checks.Checks.eventually;
import static checks.Checks.expect;
import static checks.Checks.expectEqual;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.ConfigMapList;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.ListOptionsBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.LocalPortForward;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.ExecWatch;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** What people do with fabric8's client, each as one check. */
public final class Fabric8 {
    private static final KubernetesClient CLIENT = new KubernetesClientBuilder().build();

    private static Resource<ConfigMap> at(String name) {
        return CLIENT.configMaps().inNamespace(NAMESPACE).withName(name);
    }

    private static ConfigMap configMap(String name, Map<String, String> data) {
        return new ConfigMapBuilder().withNewMetadata().withName(name).withNamespace(NAMESPACE).addToLabels("check", "fabric8").endMetadata()
            .withData(data).build();
    }

    private static ConfigMap create(String name) {
        return CLIENT.resource(configMap(name, Map.of("a", "1"))).create();
    }

    private static KubernetesClientException refused(int code, Runnable call) {
        try {
            call.run();
        } catch (KubernetesClientException error) {
            expectEqual(error.getCode(), code);
            return error;
        }
        throw new AssertionError("not refused with " + code);
    }

    private static Resource<Pod> startPod(String name, String script) throws Exception {
        Pod pod = new PodBuilder().withNewMetadata().withName(name).withNamespace(NAMESPACE).endMetadata().withNewSpec()
            .withTerminationGracePeriodSeconds(1L).addNewContainer().withName("main").withImage(IMAGE).withCommand("sh", "-c", script)
            .endContainer().endSpec().build();
        CLIENT.resource(pod).create();
        CLIENT.resource(pod).waitUntilCondition(found -> found != null && "Running".equals(found.getStatus().getPhase()), 40, TimeUnit.SECONDS);
        return CLIENT.pods().inNamespace(NAMESPACE).withName(name);
    }

    /** Create, patch, update with a stale version, a refusal with its causes, delete. */
    private static void objects() {
        ConfigMap made = create("one");
        at("one").patch(PatchContext.of(PatchType.JSON_MERGE), "{\"data\":{\"a\":null,\"b\":\"2\"}}");
        made.setData(Map.of("c", "3"));
        refused(409, () -> CLIENT.resource(made).update());
        expectEqual(at("one").get().getData(), Map.of("b", "2"));
        at("one").edit(found -> new ConfigMapBuilder(found).addToData("d", "4").build());
        expectEqual(at("one").get().getData(), Map.of("b", "2", "d", "4"));
        KubernetesClientException error = refused(422, () -> create("Not_A_Name"));
        expectEqual(error.getStatus().getDetails().getCauses().get(0).getField(), "metadata.name");
        at("one").delete();
        expect(at("one").get() == null, "still there");
    }

    private static void pages() {
        for (int number = 0; number < 7; ++number) create("page-" + number);
        List<Integer> sizes = new ArrayList<>();
        String next = null;
        do {
            ConfigMapList page = CLIENT.configMaps().inNamespace(NAMESPACE)
                .list(new ListOptionsBuilder().withLabelSelector("check=fabric8").withLimit(3L).withContinue(next).build());
            sizes.add(page.getItems().size());
            next = page.getMetadata().getContinue();
        } while (next != null && !next.isEmpty());
        expectEqual(sizes, List.of(3, 3, 1));
    }

    /** This client asks for watches over WebSocket first, and takes HTTP where that is refused. */
    private static void watching() throws Exception {
        List<String> verbs = new ArrayList<>();
        CountDownLatch deleted = new CountDownLatch(1);
        try (Watch ignored = CLIENT.configMaps().inNamespace(NAMESPACE).withLabel("check", "fabric8").watch(new Watcher<ConfigMap>() {
            @Override
            public void eventReceived(Action action, ConfigMap found) {
                verbs.add(action.name());
                if (action == Action.DELETED) deleted.countDown();
            }

            @Override
            public void onClose(WatcherException error) {}
        })) {
            create("seen");
            at("seen").patch(PatchContext.of(PatchType.JSON), "[{\"op\":\"replace\",\"path\":\"/data/a\",\"value\":\"2\"}]");
            at("seen").delete();
            expect(deleted.await(20, TimeUnit.SECONDS), "no deletion was seen, but " + verbs);
        }
        expectEqual(verbs, List.of("ADDED", "MODIFIED", "DELETED"));
    }

    private static void informer() throws Exception {
        create("before");
        try (SharedIndexInformer<ConfigMap> informer = CLIENT.configMaps().inNamespace(NAMESPACE).inform()) {
            String prefix = NAMESPACE + "/";
            expect(informer.getIndexer().getByKey(prefix + "before") != null, "what was there is not in the cache");
            create("after");
            eventually(() -> informer.getIndexer().getByKey(prefix + "after") != null, "the new one in the cache");
            at("before").delete();
            eventually(() -> informer.getIndexer().getByKey(prefix + "before") == null, "the deletion in the cache");
        }
    }

    private static void apply() {
        CLIENT.resource(configMap("shared", Map.of("a", "1"))).fieldManager("first").serverSideApply();
        CLIENT.resource(configMap("shared", Map.of("b", "2"))).fieldManager("second").serverSideApply();
        ConfigMap third = configMap("shared", Map.of("a", "3"));
        KubernetesClientException error = refused(409, () -> CLIENT.resource(third).fieldManager("third").serverSideApply());
        expect(error.getMessage().contains("conflict with \"first\""), error.getMessage());
        CLIENT.resource(third).fieldManager("third").forceConflicts().serverSideApply();
        expectEqual(at("shared").get().getData(), Map.of("a", "3", "b", "2"));
    }

    /** A kind that this client has no class for. */
    private static void untyped() {
        ResourceDefinitionContext leases = new ResourceDefinitionContext.Builder().withGroup("coordination.k8s.io").withVersion("v1")
            .withKind("Lease").withPlural("leases").withNamespaced(true).build();
        String text = "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"one\"},"
            + "\"spec\":{\"holderIdentity\":\"me\"}}";
        CLIENT.genericKubernetesResources(leases).inNamespace(NAMESPACE)
            .load(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8))).create();
        GenericKubernetesResource found = CLIENT.genericKubernetesResources(leases).inNamespace(NAMESPACE).withName("one").get();
        expectEqual(found.get("spec", "holderIdentity"), "me");
    }

    private static void rollout() {
        Map<String, String> labels = Map.of("app", "many");
        CLIENT.resource(new DeploymentBuilder().withNewMetadata().withName("many").withNamespace(NAMESPACE).endMetadata().withNewSpec()
            .withReplicas(1).withNewSelector().withMatchLabels(labels).endSelector().withNewTemplate().withNewMetadata().withLabels(labels)
            .endMetadata().withNewSpec().withTerminationGracePeriodSeconds(1L).addNewContainer().withName("main").withImage(IMAGE)
            .withCommand("sh", "-c", "sleep 1000").endContainer().endSpec().endTemplate().endSpec().build()).create();
        var many = CLIENT.apps().deployments().inNamespace(NAMESPACE).withName("many");
        many.waitUntilReady(40, TimeUnit.SECONDS);
        many.scale(2);
        many.waitUntilCondition(found -> Integer.valueOf(2).equals(found.getStatus().getReadyReplicas()), 40, TimeUnit.SECONDS);
    }

    /** Separate outputs, input and an exit code, over WebSocket. */
    private static void execution() throws Exception {
        startPod("box", "sleep 1000");
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        try (ExecWatch running = CLIENT.pods().inNamespace(NAMESPACE).withName("box").redirectingInput().writingOutput(output).writingError(errors)
            .exec("sh", "-c", "read line; echo got $line; echo complaint >&2; exit 3")) {
            running.getInput().write("words\n".getBytes(StandardCharsets.UTF_8));
            running.getInput().flush();
            expectEqual(running.exitCode().get(20, TimeUnit.SECONDS), 3);
        }
        expectEqual(output + "|" + errors, "got words\n|complaint\n");
    }

    private static void logs() throws Exception {
        startPod("talk", "for i in 1 2 3; do echo line $i; sleep 0.3; done; sleep 1000");
        eventually(() -> CLIENT.pods().inNamespace(NAMESPACE).withName("talk").getLog().equals("line 1\nline 2\nline 3\n"), "three lines");
    }

    private static void forwarding() throws Exception {
        startPod("web", Checks.WEB_PAGE);
        try (LocalPortForward forward = CLIENT.pods().inNamespace(NAMESPACE).withName("web").portForward(8080)) {
            eventually(() -> {
                try (var page = URI.create("http://127.0.0.1:" + forward.getLocalPort() + "/").toURL().openStream()) {
                    return new String(page.readAllBytes(), StandardCharsets.UTF_8).equals("page\n");
                } catch (java.io.IOException error) {
                    return false;
                }
            }, "the page");
        }
    }

    public static void main(String[] words) {
        Map<String, Checks.Check> checks = new LinkedHashMap<>();
        checks.put("objects", Fabric8::objects);
        checks.put("pages", Fabric8::pages);
        checks.put("watching", Fabric8::watching);
        checks.put("informer", Fabric8::informer);
        checks.put("apply", Fabric8::apply);
        checks.put("untyped", Fabric8::untyped);
        checks.put("rollout", Fabric8::rollout);
        checks.put("execution", Fabric8::execution);
        checks.put("logs", Fabric8::logs);
        checks.put("forwarding", Fabric8::forwarding);
        Checks.run(checks, words);
    }
}
