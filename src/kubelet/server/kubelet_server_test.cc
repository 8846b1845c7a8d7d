#include "kubelet/server/kubelet_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "kubelet/sim/fake_node.h"
#include "kubelet/sim/fake_runtime.h"
#include "net/http/kept_answer.h"
#include "objects/pods.h"
#include "runtime/asio_loop.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

using Answer = net::KeptAnswer;

struct KubeletServerTest : testing::Test {
    KubeletServerTest() {
        runtime.add_image("image:1");
        scope.spawn(kubelet.run());
        core::Pod pod = schema::decode_json<core::Pod>(
                            R"({"metadata":{"name":"p","namespace":"ns"},"spec":{"nodeName":"n1","restartPolicy":"Always",
                                "containers":[{"name":"a","image":"image:1"},{"name":"b","image":"absent:1","imagePullPolicy":"Never"}]}})")
                            .value();
        uid = api.put(pod).metadata.uid;
        EXPECT_TRUE(loop.run_until([&] { return !runtime.running("p").empty(); }, 10s));
        loop.advance(2s);
        write_log("a/0.log", "first");
    }
    ~KubeletServerTest() override { EXPECT_TRUE(porthole::sim::run(loop, scope.close())); }

    static KubeletConfig config() {
        KubeletConfig made;
        made.node.name = "n1";
        made.node.addresses = {"192.0.2.1"};
        made.node.root_directory = "/var/lib/kubelet";
        made.node.kube_reserved["memory"] = Quantity::parse("256Mi").value();
        made.node.system_reserved["memory"] = Quantity::parse("1Gi").value();
        return made;
    }
    void write_log(const std::string& name, const std::string& text) {
        const std::string path = "/var/log/pods/ns_p_" + uid + "/" + name;
        ASSERT_TRUE(files.create_directories(parent_path(path), 0755));
        ASSERT_TRUE(files.write(path, "2026-01-01T00:00:00Z stdout F " + text + "\n", 0644));
    }
    Answer get(const std::string& path, const std::string& query = "", const char* group = "system:masters") {
        return get_from(server, path, query, group);
    }
    Answer get_from(KubeletServer& asked, const std::string& path, const std::string& query, const char* group = "system:masters") {
        net::HttpRequest request{.method = "GET", .path = path, .query = query};
        if (group) request.peer.certificate = net::CertificateIdentity{"someone", {group}, ""};
        Answer answer;
        EXPECT_TRUE(porthole::sim::run(loop, asked.handle(std::move(request), answer)));
        return answer;
    }

    porthole::sim::SimLoop loop;
    SeededRandom random{7};
    client::FakeApi api{loop};
    client::Client client{api};
    sim::FakeRuntime runtime{loop};
    porthole::sim::MemoryFileSystem files{loop};
    porthole::sim::SimWorkerPool pool{loop};
    sim::FakeNodeSystem system;
    sim::FakeProber prober;
    sim::FakeHost& host = system.fake_host;
    Kubelet kubelet{config(), KubeletDependencies{.loop = loop,
                                                  .random = random,
                                                  .log = Logger(make_null_sink(), ""),
                                                  .client = client,
                                                  .runtime = runtime,
                                                  .images = runtime,
                                                  .files = files,
                                                  .workers = pool,
                                                  .system = system,
                                                  .prober = prober}};
    Scope scope{loop};
    AsioLoop sockets;  // for streams, which no test here opens
    KubeletServer server{sockets, kubelet, AccessPolicy{}, Logger(make_null_sink(), ""), NodeLogPolicy{.query = true}};
    KubeletServer without_query{sockets, kubelet, AccessPolicy{}, Logger(make_null_sink(), "")};
    std::string uid;
};

TEST_F(KubeletServerTest, ShowsTheLogOfAContainer) {
    const Answer answer = get("/containerLogs/ns/p/a");
    EXPECT_EQ(answer.code, 200);
    EXPECT_EQ(answer.body, "first\n");
    EXPECT_TRUE(answer.ended);
}

TEST_F(KubeletServerTest, SaysWhyThereIsNoLog) {
    struct {
        const char* path;
        const char* query;
        int code;
        const char* text;
    } const rows[] = {
        {"/containerLogs/ns/p/b", "", 400, "container \"b\" in pod \"p\" is waiting to start: ErrImageNeverPull\n"},
        {"/containerLogs/ns/p/a", "previous=true", 400, "previous terminated container \"a\" in pod \"p\" not found\n"},
        {"/containerLogs/ns/p/none", "", 404, "container \"none\" not found in pod \"p\"\n"},
        {"/containerLogs/ns/none/a", "", 404, "pod \"none\" not found\n"},
        {"/containerLogs/ns/p/a", "tailLines=x", 400, "Unable to decode the request as container log options: tailLines is not a number\n"},
    };
    for (const auto& row : rows) {
        const Answer answer = get(row.path, row.query);
        EXPECT_EQ(answer.code, row.code) << row.path;
        EXPECT_EQ(answer.body, row.text);
    }
}

TEST_F(KubeletServerTest, SaysThatAContainerDoesNotRun) {
    struct {
        const char *path, *text;
    } const rows[] = {
        {"/exec/ns/p/b", "container not found (\"b\")\n"},
        {"/attach/ns/p/b", "container b not found in pod p_ns\n"},
    };
    for (const auto& row : rows) {
        const Answer answer = get(row.path, "command=ls&output=1");
        EXPECT_EQ(answer.code, 500) << row.path;
        EXPECT_EQ(answer.body, row.text);
    }
}

TEST_F(KubeletServerTest, PreviousIsTheContainerBefore) {
    runtime.exit("p", "a", 1);
    ASSERT_TRUE(loop.run_until([&] { return runtime.find("p", "a")->config.metadata->attempt == 1; }, 30s));
    loop.advance(2s);
    write_log("a/1.log", "second");
    EXPECT_EQ(get("/containerLogs/ns/p/a").body, "second\n");
    EXPECT_EQ(get("/containerLogs/ns/p/a", "previous=true").body, "first\n");
}

TEST_F(KubeletServerTest, OnlyThoseMayAskWhoAreTrustedOrAllowed) {
    EXPECT_EQ(get("/pods", "", nullptr).code, 401);
    const Answer refused = get("/pods", "", "somebody");  // the fake API allows nothing
    EXPECT_EQ(refused.code, 403);
    EXPECT_THAT(refused.body, HasSubstr("Forbidden (user=someone, verb=get, resource=nodes, subresource(s)=[pods])"));
    EXPECT_EQ(get("/pods").code, 200);
}

TEST_F(KubeletServerTest, ListsPodsWithTheirNewestStatus) {
    const auto list = schema::decode_json<core::PodList>(get("/pods").body);
    ASSERT_TRUE(list);
    ASSERT_EQ(list->items.size(), 1u);
    EXPECT_EQ(list->items[0].metadata.name, "p");
    EXPECT_EQ(list->items[0].status.pod_ip, "10.244.0.1");
}

TEST_F(KubeletServerTest, ServesStatisticsAndMetrics) {
    runtime.memory = [](const std::string&) { return 5000; };
    const auto summary = schema::parse_json(get("/stats/summary").body);
    ASSERT_TRUE(summary);
    EXPECT_EQ(summary->string_at({"node", "nodeName"}), "n1");
    EXPECT_EQ(summary->find("pods")->as_array().size(), 1u);
    const std::string metrics = get("/metrics/resource").body;
    EXPECT_THAT(metrics, HasSubstr("container_memory_working_set_bytes{container=\"a\",namespace=\"ns\",pod=\"p\"} 5000"));
    EXPECT_THAT(metrics, HasSubstr("\nnode_cpu_usage_seconds_total "));
    EXPECT_THAT(get("/metrics").body, HasSubstr("kubelet_active_pods 1\n"));
    EXPECT_EQ(get("/healthz").body, "ok");
    EXPECT_EQ(get("/nothing").code, 404);
}

TEST_F(KubeletServerTest, ServesWhatVolumesTake) {
    core::PersistentVolumeClaim claim;
    claim.metadata.name = "data";
    claim.metadata.namespace_ = "ns";
    claim.spec.volume_name = "pv1";
    claim.status.phase = "Bound";
    core::PersistentVolume volume;
    volume.metadata.name = "pv1";
    volume.spec.local.emplace().path = "/disks/1";
    volume.spec.claim_ref.emplace().uid = api.put(claim).metadata.uid;
    api.put(volume);
    ASSERT_TRUE(files.create_directories("/disks/1", 0755));
    core::Pod pod = schema::decode_json<core::Pod>(R"({"metadata":{"name":"v","namespace":"ns"},"spec":{"nodeName":"n1","volumes":[
        {"name":"e","emptyDir":{}},{"name":"m","emptyDir":{"medium":"Memory"}},{"name":"d","persistentVolumeClaim":{"claimName":"data"}}],
        "containers":[{"name":"a","image":"image:1","volumeMounts":[{"name":"e","mountPath":"/e"},{"name":"m","mountPath":"/m"},
        {"name":"d","mountPath":"/d"}]}]}})")
                        .value();
    const std::string folder = "/var/lib/kubelet/pods/" + api.put(pod).metadata.uid + "/volumes/kubernetes.io~empty-dir";
    ASSERT_TRUE(loop.run_until([&] { return !runtime.running("v").empty(); }, 10s));
    ASSERT_TRUE(files.write(folder + "/e/f", std::string(1000, 'x'), 0644));
    ASSERT_TRUE(files.write(folder + "/m/f", std::string(70, 'x'), 0644));
    runtime.written = [](const std::string& name) { return name == "v" ? 30 : 0; };
    loop.advance(61s);
    const auto summary = schema::parse_json(get("/stats/summary").body);
    ASSERT_TRUE(summary);
    std::map<std::string, std::int64_t> used;
    for (const schema::Value& shown : summary->find("pods")->as_array()) {
        if (shown.string_at({"podRef", "name"}) != "v") continue;
        EXPECT_EQ(shown.find("ephemeral-storage")->find("usedBytes")->as_int(), 1030) << "without what is in memory or a claim's";
        const schema::Value& layer = *shown.find("containers")->as_array().front().find("rootfs");
        EXPECT_EQ(layer.find("usedBytes")->as_int(), 30);
        for (const char* key : {"availableBytes", "capacityBytes", "inodesFree", "inodes"})
            EXPECT_EQ(layer.find(key)->as_int(), shown.find("ephemeral-storage")->find(key)->as_int()) << "of the node's disk";
        for (const schema::Value& one : shown.find("volume")->as_array()) {
            used[std::string(one.string_at({"name"}))] = one.find("usedBytes")->as_int();
            EXPECT_EQ(one.string_at({"pvcRef", "name"}), one.string_at({"name"}) == "d" ? "data" : "");
        }
    }
    EXPECT_EQ(used.size(), 3u);
    EXPECT_EQ(used["e"], 1000);
    EXPECT_EQ(used["m"], 70);
    EXPECT_THAT(get("/metrics").body, HasSubstr("kubelet_volume_stats_used_bytes{namespace=\"ns\",persistentvolumeclaim=\"data\"} "));
}

// KBL-34
TEST_F(KubeletServerTest, AWindowsHostShowsWhatItHasPromised) {
    EXPECT_THAT(get("/metrics/resource").body, Not(HasSubstr("node_memory_commit"))) << "only Windows counts so";
    host.now.commit_total = host.facts.memory + (1 << 20);
    host.now.commit_limit = host.facts.memory + (3 << 20);
    const std::string metrics = get("/metrics/resource").body;
    EXPECT_THAT(metrics, HasSubstr("\nnode_memory_commit_bytes " + std::to_string(host.now.commit_total)));
    EXPECT_THAT(metrics, HasSubstr("\nnode_memory_commit_limit_bytes " + std::to_string(host.now.commit_limit)));
    const auto summary = schema::parse_json(get("/stats/summary").body);
    ASSERT_TRUE(summary);
    EXPECT_EQ(summary->find("node")->find("swap")->find("swapUsageBytes")->as_int(), 1 << 20);
    EXPECT_EQ(summary->find("node")->find("swap")->find("swapAvailableBytes")->as_int(), 2 << 20);
}

// KBL-08
TEST_F(KubeletServerTest, ItsConfigurationTellsWhatAllocatableIsLessThanCapacityBy) {
    const auto answer = schema::parse_json(get("/configz").body);
    ASSERT_TRUE(answer);
    const schema::Value& told = *answer->find("kubeletconfig");
    Quantity left = api.find<core::Node>({"", "n1"})->status.capacity.at("memory");
    for (const auto& [list, name] :
         {std::pair("kubeReserved", "memory"), std::pair("systemReserved", "memory"), std::pair("evictionHard", "memory.available")})
        left -= Quantity::parse(told.find(list)->find(name)->as_string()).value();
    EXPECT_EQ(left, api.find<core::Node>({"", "n1"})->status.allocatable.at("memory"));
    EXPECT_EQ(told.find("evictionHard")->find("nodefs.available")->as_string(), "10%");
}

TEST_F(KubeletServerTest, StartsOfContainersAreCountedAndThoseThatFail) {
    const std::string metrics = get("/metrics").body;
    EXPECT_THAT(metrics, HasSubstr("\nkubelet_started_containers_total{container_type=\"container\"} "));
    EXPECT_THAT(metrics, HasSubstr("\nkubelet_started_containers_errors_total{code=\"ErrImageNeverPull\",container_type=\"container\"} "));
    EXPECT_THAT(metrics, Not(HasSubstr("host_process")));
}

TEST_F(KubeletServerTest, NodeLogsStayInsideTheirDirectory) {
    ASSERT_TRUE(files.write("/var/log/syslog", "line\n", 0644));
    ASSERT_TRUE(files.create_directories("/etc", 0755));
    ASSERT_TRUE(files.write("/etc/shadow", "secret", 0600));
    ASSERT_TRUE(files.create_symlink("/etc/shadow", "/var/log/link"));
    EXPECT_EQ(get("/logs/syslog").body, "line\n");
    EXPECT_EQ(get("/logs/link").code, 403);
    EXPECT_EQ(get("/logs/%2e%2e/etc").code, 400);
}

TEST_F(KubeletServerTest, ALargeNodeLogIsSentInPieces) {
    const std::string text(3'000'000, 'x');
    ASSERT_TRUE(files.write("/var/log/large.log", text + "end", 0644));
    const Answer answer = get("/logs/large.log");
    EXPECT_EQ(answer.code, 200);
    EXPECT_TRUE(answer.body == text + "end");
    EXPECT_TRUE(answer.ended);
    EXPECT_GT(answer.longest_chunk, 0u);
    EXPECT_LE(answer.longest_chunk, 256u << 10);
}

TEST_F(KubeletServerTest, NodeLogsShowNothingBesideTheirDirectory) {
    ASSERT_TRUE(files.write("/var/log/client.pem", "the node's key", 0600));
    KubeletServer narrow(sockets, kubelet, AccessPolicy{}, Logger(make_null_sink(), ""), {.directory = "/var/log/pods", .query = true});
    EXPECT_THAT(get_from(narrow, "/logs/", "").body, HasSubstr("ns_p_" + uid));
    EXPECT_EQ(get_from(narrow, "/logs/client.pem", "").code, 404);
    EXPECT_EQ(get_from(narrow, "/logs/", "query=client.pem").code, 404);
    EXPECT_EQ(get_from(narrow, "/logs/%2e%2e/client.pem", "").code, 400);
}

TEST_F(KubeletServerTest, NodeLogsAreSearchedOnlyWhereThatIsEnabled) {
    ASSERT_TRUE(files.write("/var/log/proxy.log", "one\ntwo\n", 0644));
    const Answer found = get("/logs/", "query=proxy&pattern=t.o");
    EXPECT_EQ(found.code, 200);
    EXPECT_EQ(found.body, "two\n");
    EXPECT_EQ(get("/logs/", "query=absent").code, 404);
    EXPECT_EQ(get("/logs/", "query=proxy&tailLines=x").code, 400);
    EXPECT_THAT(get_from(without_query, "/logs/", "query=proxy").body, HasSubstr("proxy.log</a>"));
    EXPECT_EQ(get("/logs/", "query=proxy", "somebody").code, 403);
}

TEST(NodeAttributes, FollowMethodAndPath) {
    struct {
        const char *method, *path, *verb, *subresource;
    } const rows[] = {
        {"GET", "/stats/summary", "get", "stats"},   {"GET", "/metrics/resource", "get", "metrics"},   {"GET", "/logs/x", "get", "log"},
        {"POST", "/exec/ns/p/c", "create", "proxy"}, {"GET", "/containerLogs/ns/p/c", "get", "proxy"}, {"GET", "/metricsx", "get", "proxy"},
    };
    for (const auto& row : rows) {
        const NodeAttributes attributes = node_attributes(row.method, row.path);
        EXPECT_EQ(attributes.verb, row.verb) << row.path;
        EXPECT_EQ(attributes.subresource, row.subresource) << row.path;
    }
}

}  // namespace
}  // namespace porthole::kubelet
