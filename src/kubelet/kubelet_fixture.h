#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "kubelet/kubelet.h"
#include "kubelet/sim/fake_node.h"
#include "kubelet/sim/fake_runtime.h"
#include "objects/pods.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::kubelet {

using namespace std::chrono_literals;

/// One node "n1" with a kubelet on simulated everything; the API is a fake one.
struct KubeletTest : testing::Test {
    KubeletTest() {
        core::Service kubernetes;
        kubernetes.metadata.name = "kubernetes";
        kubernetes.metadata.namespace_ = "default";
        kubernetes.spec.cluster_ip = "10.96.0.1";
        kubernetes.spec.ports.emplace_back().port = 443;
        api.put(kubernetes);
        runtime.add_image("image:1");
        EXPECT_TRUE(files.create_directories("/etc/manifests", 0755));
        start();
    }
    ~KubeletTest() override { stop(); }

    void start() {
        KubeletConfig config;
        config.node.name = "n1";
        config.node.addresses = {"192.0.2.1"};
        config.node.root_directory = "/var/lib/kubelet";
        config.node.version = "v1.36.2";
        config.node.max_pods = max_pods;
        config.sandbox_image = sandbox_image;
        config.static_pod_directory = "/etc/manifests";
        config.cluster_dns = {"10.96.0.10"};
        config.feature_gates = gates;
        config.parallel_image_pulls = parallel_image_pulls;
        config.identify_pod_os = identify_pod_os;
        if (host.facts.operating_system == "windows") config.eviction.memory_available = 0;  // as its options do
        kubelet = std::make_unique<Kubelet>(config, KubeletDependencies{.loop = loop,
                                                                        .random = random,
                                                                        .log = Logger(make_null_sink(), "kubelet"),
                                                                        .client = client,
                                                                        .runtime = runtime,
                                                                        .images = runtime,
                                                                        .files = files,
                                                                        .workers = pool,
                                                                        .system = system,
                                                                        .prober = prober,
                                                                        .plugins = plugins});
        scope = std::make_unique<Scope>(loop);
        scope->spawn(kubelet->run());
    }
    void stop() {
        if (!kubelet) return;
        EXPECT_TRUE(porthole::sim::run(loop, scope->close()));
        kubelet.reset();
        scope.reset();
    }

    /// `spec` is the pod's spec as JSON.
    void add(const std::string& name, const std::string& spec, std::map<std::string, std::string> annotations = {}) {
        core::Pod pod = schema::decode_json<core::Pod>(R"({"spec":)" + spec + "}").value();
        pod.metadata.name = name;
        pod.metadata.namespace_ = "default";
        pod.metadata.annotations = std::move(annotations);
        pod.spec.node_name = "n1";
        if (pod.spec.restart_policy.empty()) pod.spec.restart_policy = "Always";
        if (!pod.spec.termination_grace_period_seconds) pod.spec.termination_grace_period_seconds = 30;
        api.put(pod);
    }
    core::Pod pod(const std::string& name) { return api.find<core::Pod>({"default", name}).value_or(core::Pod()); }
    bool exists(const std::string& name) { return api.find<core::Pod>({"default", name}).has_value(); }
    bool ready(const std::string& name) { return objects::is_ready(pod(name)); }
    std::string waiting(const std::string& name) {
        const core::Pod now = pod(name);
        if (now.status.container_statuses.empty() || !now.status.container_statuses[0].state.waiting) return "";
        return now.status.container_statuses[0].state.waiting->reason;
    }
    bool until(const std::function<bool()>& holds, Duration limit = 30s) { return loop.run_until(holds, limit); }
    std::vector<std::string> events(const std::string& reason) {
        loop.advance(1s);
        std::vector<std::string> messages;
        for (const core::Event& event : api.list<core::Event>())
            if (event.reason == reason) messages.push_back(event.message);
        return messages;
    }

    porthole::sim::SimLoop loop;
    SeededRandom random{7};
    client::FakeApi api{loop};
    client::Client client{api};
    sim::FakeRuntime runtime{loop};
    porthole::sim::MemoryFileSystem files{loop};
    porthole::sim::SimWorkerPool pool{loop};
    sim::FakeNodeSystem system;
    sim::FakeMounter& mounter = system.fake_mounter;
    sim::FakeProber prober;
    sim::FakeHost& host = system.fake_host;
    windows::Gates gates;
    PluginConnector* plugins = nullptr;
    bool identify_pod_os = true;
    std::int64_t max_pods = 110;
    std::size_t parallel_image_pulls = 1;
    std::string sandbox_image;
    std::unique_ptr<Kubelet> kubelet;
    std::unique_ptr<Scope> scope;
};

inline constexpr const char* OneContainer = R"({"containers":[{"name":"a","image":"image:1"}]})";

}  // namespace porthole::kubelet
