#include "kubelet/container/container_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/container/cgroups.h"
#include "kubelet/container/environment.h"
#include "kubelet/container/security_context.h"
#include "kubelet/container/windows_config.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

core::Pod pod_of(const std::string& json) { return schema::decode_json<core::Pod>(json).value(); }

TEST(Expansion, FollowsTheRulesOfKubernetes) {
    struct {
        const char* text;
        const char* expected;
    } const rows[] = {
        {"$(A)", "1"},     {"x$(A)y$(A)", "x1y1"}, {"$(MISSING)", "$(MISSING)"},
        {"$$(A)", "$(A)"}, {"$$$(A)", "$1"},       {"$", "$"},
        {"$A", "$A"},      {"$(A", "$(A"},         {"a$$b", "a$b"},
        {"$()", "$()"},    {"$$$$$(A)", "$$1"},
    };
    const std::string one = "1";
    const auto lookup = [&](std::string_view name) { return name == "A" ? &one : nullptr; };
    for (const auto& row : rows) EXPECT_EQ(*expand(row.text, lookup), row.expected) << row.text;
}

TEST(Expansion, AReferenceWithoutAnEndIsLookedForOnce) {
    std::string text;
    for (int i = 0; i < 500'000; ++i) text += "$(";
    EXPECT_EQ(*expand(text, [](std::string_view) { return nullptr; }), text);
}

struct Objects final : ObjectSource {
    Task<std::shared_ptr<const core::ConfigMap>> config_map(std::string, std::string name) override {
        if (name == "large") {
            auto large = std::make_shared<core::ConfigMap>();
            large->data["k"] = std::string(2 << 20, 'x');
            co_return large;
        }
        if (name != "settings") co_return Error(Reason::NotFound, "configmap \"" + name + "\" not found");
        auto map = std::make_shared<core::ConfigMap>();
        map->data = {{"color", "red"}, {"a=b", "bad"}};
        co_return map;
    }
    Task<std::shared_ptr<const core::Secret>> secret(std::string, std::string name) override {
        if (name != "hidden") co_return Error(Reason::NotFound, "secret \"" + name + "\" not found");
        auto secret = std::make_shared<core::Secret>();
        secret->data = {{"password", "pw"}};
        co_return secret;
    }
};

struct EnvironmentTest : testing::Test {
    Result<Environment> environment(const char* container_json, Environment services = {}) {
        pod.spec.containers = {schema::decode_json<core::Container>(container_json).value()};
        pod.spec.node_name = "n1";
        pod.metadata.labels["app"] = "web";
        const DownwardContext context{.host_addresses = {"192.0.2.1"},
                                      .pod_addresses = {"10.1.0.1", "fd00::1"},
                                      .node_allocatable = {{"memory", Quantity::parse("4Gi").value()}}};
        return sim::run(loop, make_environment(pod, pod.spec.containers[0], context, std::move(services), objects));
    }
    sim::SimLoop loop;
    Objects objects;
    core::Pod pod;
};

TEST_F(EnvironmentTest, LaterDefinitionsWinAndSeeEarlierOnes) {
    const auto result = environment(
        R"j({"name":"c","envFrom":[{"prefix":"CFG_","configMapRef":{"name":"settings"}},{"secretRef":{"name":"hidden"}}],
            "env":[{"name":"password","value":"own"},{"name":"URL","value":"http://$(WEB_SERVICE_HOST)/$(CFG_color)/$(LATER)"},
                   {"name":"LATER","value":"x"}]})j",
        {{"WEB_SERVICE_HOST", "10.96.0.5"}, {"LATER", "from service"}});
    ASSERT_TRUE(result);
    const std::map<std::string, std::string> values(result->begin(), result->end());
    EXPECT_EQ(values.at("password"), "own");
    EXPECT_EQ(values.at("URL"), "http://10.96.0.5/red/from service");
    EXPECT_EQ(values.at("LATER"), "x");
    EXPECT_FALSE(values.contains("CFG_a=b"));
}

TEST_F(EnvironmentTest, ManyVariablesTakeLinearTime) {
    constexpr int Many = 20'000;
    std::string variables;
    for (int i = 0; i < Many; ++i) {
        const char* value = i % 2 ? R"j("value":"$(V0)")j" : R"j("valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}})j";
        variables += (i ? "," : "") + std::string(R"j({"name":"V)j") + std::to_string(i) + "\"," + value + "}";
    }
    Environment services;
    for (int i = 0; i < Many; ++i) services.emplace_back("S" + std::to_string(i), "1");
    const std::string container = R"j({"name":"c","resources":{"limits":{"cpu":"2"}},"env":[)j" + variables + "]}";
    const auto result = environment(container.c_str(), std::move(services));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->size(), 2u * Many);
    EXPECT_EQ((*result)[Many - 1].second, "2");
}

TEST_F(EnvironmentTest, ValuesThatMultiplyAreRefused) {
    std::string variables = R"({"name":"V0","value":"0123456789"})";
    for (int i = 1; i < 20; ++i) {
        std::string value;
        for (int times = 0; times < 10; ++times) value += "$(V" + std::to_string(i - 1) + ")";
        variables += R"(,{"name":"V)" + std::to_string(i) + R"(","value":")" + value + "\"}";
    }
    EXPECT_EQ(environment((R"({"name":"c","env":[)" + variables + "]}").c_str()).error().message,
              "variables expand to more than 8388608 bytes");
    std::string lists;
    for (int i = 0; i < 5; ++i)
        lists += (i ? "," : "") + std::string(R"({"prefix":"P)") + std::to_string(i) + R"(","configMapRef":{"name":"large"}})";
    EXPECT_EQ(environment((R"({"name":"c","envFrom":[)" + lists + "]}").c_str()).error().message,
              "environment variables take more than 8388608 bytes");
}

TEST_F(EnvironmentTest, DownwardApi) {
    const auto result = environment(
        R"j({"name":"c","resources":{"limits":{"cpu":"1500m"}},"env":[
            {"name":"L","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['app']"}}},
            {"name":"N","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}},
            {"name":"IPS","valueFrom":{"fieldRef":{"fieldPath":"status.podIPs"}}},
            {"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}},
            {"name":"MILLI","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1m"}}},
            {"name":"MEM","valueFrom":{"resourceFieldRef":{"resource":"limits.memory","divisor":"1Mi"}}}]})j");
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_THAT(*result, ElementsAre(testing::Pair("L", "web"), testing::Pair("N", "n1"), testing::Pair("IPS", "10.1.0.1,fd00::1"),
                                     testing::Pair("CPU", "2"), testing::Pair("MILLI", "1500"), testing::Pair("MEM", "4096")));
}

TEST_F(EnvironmentTest, MissingReferencesAreErrorsUnlessOptional) {
    EXPECT_EQ(environment(R"j({"name":"c","envFrom":[{"configMapRef":{"name":"none"}}]})j").error().message,
              "configmap \"none\" not found");
    EXPECT_THAT(
        environment(R"j({"name":"c","env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"hidden","key":"x"}}}]})j").error().message,
        HasSubstr("couldn't find key x in Secret"));
    EXPECT_TRUE(environment(R"j({"name":"c","envFrom":[{"configMapRef":{"name":"none","optional":true}}]})j"));
    EXPECT_TRUE(environment(R"j({"name":"c","env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"x","key":"x","optional":true}}}]})j"));
}

TEST(ServiceEnvironment, NamesEveryPort) {
    auto service = std::make_shared<core::Service>(
        schema::decode_json<core::Service>(
            R"j({"metadata":{"name":"my-db","namespace":"ns"},"spec":{"clusterIP":"10.0.0.9","ports":[{"name":"main","port":5432,"protocol":"TCP"}]}})j")
            .value());
    EXPECT_THAT(service_environment({service}),
                ElementsAre(testing::Pair("MY_DB_SERVICE_HOST", "10.0.0.9"), testing::Pair("MY_DB_SERVICE_PORT", "5432"),
                            testing::Pair("MY_DB_SERVICE_PORT_MAIN", "5432"), testing::Pair("MY_DB_PORT", "tcp://10.0.0.9:5432"),
                            testing::Pair("MY_DB_PORT_5432_TCP", "tcp://10.0.0.9:5432"), testing::Pair("MY_DB_PORT_5432_TCP_PROTO", "tcp"),
                            testing::Pair("MY_DB_PORT_5432_TCP_PORT", "5432"), testing::Pair("MY_DB_PORT_5432_TCP_ADDR", "10.0.0.9")));
}

TEST(NetworkFiles, HostnameAndHosts) {
    core::Pod pod = pod_of(R"j({"metadata":{"name":"web-0","namespace":"ns"},"spec":{"subdomain":"web"}})j");
    const PodHostname name = pod_hostname(pod, "cluster.local").value();
    EXPECT_EQ(name.hostname, "web-0");
    EXPECT_EQ(name.domain, "web.ns.svc.cluster.local");
    core::HostAlias alias;
    alias.ip = "1.2.3.4";
    alias.hostnames = {"foo", "bar"};
    const std::string file = hosts_file({"10.1.0.1"}, name, {alias});
    EXPECT_THAT(file, HasSubstr("\n10.1.0.1\tweb-0.web.ns.svc.cluster.local\tweb-0\n"));
    EXPECT_THAT(file, HasSubstr("\n# Entries added by HostAliases.\n1.2.3.4\tfoo\tbar\n"));
    pod.metadata.name = std::string(62, 'x') + "-y";
    EXPECT_EQ(pod_hostname(pod, "cluster.local")->hostname, std::string(62, 'x'));
    pod.spec.set_hostname_as_fqdn = true;
    EXPECT_FALSE(pod_hostname(pod, "cluster.local"));
}

TEST(NetworkFiles, ManyOptionsTakeLinearTime) {
    constexpr int Options = 60'000;
    core::Pod pod = pod_of(R"j({"metadata":{"name":"p","namespace":"ns"},"spec":{"dnsConfig":{}}})j");
    for (int i = 0; i < Options; ++i) {
        auto& option = pod.spec.dns_config->options.emplace_back();
        option.name = "o" + std::to_string(i);
        option.value = "1";
    }
    pod.spec.dns_config->options.push_back(pod.spec.dns_config->options[0]);
    pod.spec.dns_config->options.back().value = "2";
    const auto options = pod_dns(pod, {{"10.96.0.10"}, "cluster.local", parse_resolv_conf("options o1:7\n")}).config.options;
    ASSERT_GE(options.size(), static_cast<std::size_t>(Options));
    EXPECT_EQ(std::ranges::count(options, "o0:2"), 1) << "the last of a name counts";
    EXPECT_EQ(std::ranges::count(options, "o0:1"), 0);
}

TEST(NetworkFiles, DnsByPolicy) {
    const ClusterDns cluster{
        {"10.96.0.10"},
        "cluster.local",
        parse_resolv_conf("# c\nsearch old\nsearch corp.example svc.cluster.local\nnameserver 9.9.9.9\noptions timeout:1\n")};
    core::Pod pod =
        pod_of(R"j({"metadata":{"name":"p","namespace":"ns"},"spec":{"dnsConfig":{"options":[{"name":"ndots","value":"2"}]}}})j");
    const cri::DNSConfig first = pod_dns(pod, cluster).config;
    EXPECT_THAT(first.servers, ElementsAre("10.96.0.10"));
    EXPECT_THAT(first.searches, ElementsAre("ns.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp.example"));
    EXPECT_THAT(first.options, ElementsAre("ndots:2"));
    pod.spec.host_network = true;
    EXPECT_THAT(pod_dns(pod, cluster).config.servers, ElementsAre("9.9.9.9"));
    pod.spec.dns_policy = "ClusterFirstWithHostNet";
    EXPECT_THAT(pod_dns(pod, cluster).config.servers, ElementsAre("10.96.0.10"));
    pod.spec.dns_policy = "None";
    pod.spec.dns_config->nameservers = {"1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"};
    const DnsOutcome none = pod_dns(pod, cluster);
    EXPECT_THAT(none.config.servers, ElementsAre("1.1.1.1", "2.2.2.2", "3.3.3.3"));
    EXPECT_EQ(none.warning_reason, "DNSConfigForming");
}

TEST(ContainerConfig, CarriesIdentityCommandsAndSecurity) {
    const core::Pod pod = pod_of(
        R"j({"metadata":{"name":"p","namespace":"ns","uid":"u1"},"spec":{"terminationGracePeriodSeconds":7,
            "securityContext":{"runAsUser":1000,"fsGroup":2000,"seccompProfile":{"type":"RuntimeDefault"}},
            "containers":[{"name":"c","image":"i:1","command":["$(SHELL)"],"args":["-c","$(NO)"],
              "securityContext":{"runAsUser":7,"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}},
              "resources":{"requests":{"cpu":"250m"},"limits":{"cpu":"500m","memory":"64Mi"}},
              "lifecycle":{"stopSignal":"SIGUSR1"}}]}})j");
    const ContainerSpec spec{ContainerKind::Regular, pod.spec.containers[0], ""};
    const auto config = make_container_config({.pod = pod,
                                               .spec = spec,
                                               .attempt = 3,
                                               .environment = {{"SHELL", "sh"}},
                                               .image_ref = "sha256:9",
                                               .platform = {.memory = 1 << 30}});
    ASSERT_TRUE(config);
    EXPECT_THAT(config->command, ElementsAre("sh"));
    EXPECT_THAT(config->args, ElementsAre("-c", "$(NO)"));
    EXPECT_EQ(config->log_path, "c/3.log");
    EXPECT_EQ(config->labels.at("io.kubernetes.pod.uid"), "u1");
    EXPECT_EQ(config->annotations.at("io.kubernetes.container.restartCount"), "3");
    EXPECT_EQ(config->annotations.at("io.kubernetes.pod.terminationGracePeriod"), "7");
    EXPECT_EQ(config->stop_signal, cri::Signal::Sigusr1);
    const auto& security = *config->linux->security_context;
    EXPECT_EQ(security.run_as_user->value, 7);
    EXPECT_THAT(security.supplemental_groups, ElementsAre(2000));
    EXPECT_TRUE(security.no_new_privs);
    EXPECT_EQ(security.seccomp->profile_type, cri::SecurityProfileProfileType::RuntimeDefault);
    EXPECT_THAT(security.masked_paths, testing::Contains("/proc/kcore"));
    EXPECT_EQ(config->linux->resources->cpu_shares, 256);
    EXPECT_EQ(config->linux->resources->cpu_quota, 50'000);
    EXPECT_EQ(config->linux->resources->memory_limit_in_bytes, 64 << 20);
}

TEST(ContainerConfig, RunAsNonRootLooksAtTheImage) {
    core::Pod pod = pod_of(
        R"j({"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"securityContext":{"runAsNonRoot":true},"containers":[{"name":"c"}]}})j");
    const core::Container& container = pod.spec.containers[0];
    EXPECT_TRUE(verify_non_root(pod, container, {.uid = 7}));
    EXPECT_EQ(verify_non_root(pod, container, {.uid = 0}).error().message,
              "container has runAsNonRoot and image will run as root (pod: \"p_ns(u)\", container: c)");
    EXPECT_THAT(verify_non_root(pod, container, {.name = "www"}).error().message, HasSubstr("non-numeric user (www)"));
    EXPECT_FALSE(verify_non_root(pod, container, {}));
    pod.spec.security_context->run_as_user = 5;
    EXPECT_TRUE(verify_non_root(pod, pod.spec.containers[0], {}));
}

TEST(ContainerConfig, SandboxHasPortsNamespacesAndSysctls) {
    const core::Pod pod = pod_of(
        R"j({"metadata":{"name":"p","namespace":"ns","uid":"u1","labels":{"app":"x"}},"spec":{"shareProcessNamespace":true,
            "securityContext":{"sysctls":[{"name":"net.core.somaxconn","value":"9"}]},
            "containers":[{"name":"c","ports":[{"containerPort":80,"hostPort":8080,"protocol":"UDP"},{"containerPort":81}]}]}})j");
    const cri::PodSandboxConfig config = make_sandbox_config({.pod = pod, .attempt = 1, .hostname = {"p", ""}});
    ASSERT_EQ(config.port_mappings.size(), 1u);
    EXPECT_EQ(config.port_mappings[0].host_port, 8080);
    EXPECT_EQ(config.port_mappings[0].protocol, cri::Protocol::Udp);
    EXPECT_EQ(config.labels.at("app"), "x");
    EXPECT_EQ(config.linux->sysctls.at("net.core.somaxconn"), "9");
    EXPECT_EQ(config.linux->security_context->namespace_options->pid, cri::NamespaceMode::Pod);
    EXPECT_EQ(pod_cgroup(pod, "/n1"), "/n1/kubepods/besteffort/podu1");
}

TEST(ContainerConfig, NoLabelOfAPodMakesItsSandboxAnothers) {
    const core::Pod pod = pod_of(
        R"j({"metadata":{"name":"p","namespace":"ns","uid":"u1","labels":{"app":"x","io.kubernetes.pod.uid":"victim",
            "io.kubernetes.pod.name":"victim","io.kubernetes.pod.namespace":"kube-system"}},"spec":{"containers":[{"name":"c"}]}})j");
    const cri::PodSandboxConfig config = make_sandbox_config({.pod = pod, .attempt = 0, .hostname = {"p", ""}});
    EXPECT_EQ(config.labels.at("io.kubernetes.pod.uid"), "u1");
    EXPECT_EQ(config.labels.at("io.kubernetes.pod.name"), "p");
    EXPECT_EQ(config.labels.at("io.kubernetes.pod.namespace"), "ns");
    EXPECT_EQ(config.labels.at("app"), "x");
}

TEST(ContainerConfig, SeccompProfilesComeFromTheirDirectoryOnly) {
    const auto made_with = [](const std::string& profile) {
        const core::Pod pod =
            pod_of(R"j({"metadata":{"name":"p","namespace":"ns","uid":"u1"},"spec":{"containers":[{"name":"c","image":"i:1",
            "securityContext":{"seccompProfile":{"type":"Localhost","localhostProfile":")j" +
                   profile + R"("}}}]}})");
        const ContainerSpec spec{ContainerKind::Regular, pod.spec.containers[0], ""};
        const auto config = make_container_config(
            {.pod = pod, .spec = spec, .image_ref = "sha256:9", .platform = {.memory = 1 << 30}, .seccomp_root = "/k/seccomp"});
        return config ? config->linux->security_context->seccomp->localhost_ref : "refused";
    };
    EXPECT_EQ(made_with("profiles/mine.json"), "/k/seccomp/profiles/mine.json");
    EXPECT_EQ(made_with("..data/mine.json"), "/k/seccomp/..data/mine.json");
    for (const char* bad : {"../pods/u1/volumes/v/any.json", "a/../../any.json", "/etc/any.json", "..", "a/.."})
        EXPECT_EQ(made_with(bad), "refused") << bad;
}

TEST(ContainerConfig, AContainersAppArmorProfileComesBeforeItsAnnotationAndThePods) {
    const auto profile_of = [](const std::string& context, const std::string& annotation) {
        core::Pod pod = pod_of(R"({"metadata":{"name":"p","namespace":"ns","uid":"u1"},"spec":{"containers":[{"name":"c","image":"i:1",
            "securityContext":)" +
                               context + R"(}],"securityContext":{"appArmorProfile":{"type":"Localhost","localhostProfile":"of-pod"}}}})");
        if (!annotation.empty()) pod.metadata.annotations["container.apparmor.security.beta.kubernetes.io/c"] = annotation;
        const ContainerSpec spec{ContainerKind::Regular, pod.spec.containers[0], ""};
        const auto config = make_container_config({.pod = pod, .spec = spec, .image_ref = "sha256:9", .platform = {.memory = 1 << 30}});
        const auto& security = *config->linux->security_context;
        EXPECT_EQ(security.apparmor->profile_type == cri::SecurityProfileProfileType::Localhost, !security.apparmor->localhost_ref.empty());
        return security.apparmor_profile;
    };
    EXPECT_EQ(profile_of("{}", ""), "localhost/of-pod");
    EXPECT_EQ(profile_of("{}", "localhost/mine"), "localhost/mine");
    EXPECT_EQ(profile_of("{}", "runtime/default"), "runtime/default");
    EXPECT_EQ(profile_of("{}", "unknown"), "localhost/of-pod");
    EXPECT_EQ(profile_of(R"({"appArmorProfile":{"type":"Unconfined"}})", "localhost/mine"), "unconfined");
    EXPECT_EQ(profile_of(R"({"appArmorProfile":{"type":"RuntimeDefault"}})", ""), "runtime/default");
}

TEST(ContainerConfig, SeccompMayBeOnByDefault) {
    const auto profile_of = [](const char* context, bool by_default) {
        const core::Pod pod = pod_of(std::string(R"({"metadata":{"name":"p","namespace":"ns","uid":"u1"},"spec":{"containers":[{"name":"c",
            "image":"i:1","securityContext":)") +
                                     context + "}]}}");
        const ContainerSpec spec{ContainerKind::Regular, pod.spec.containers[0], ""};
        const auto config = make_container_config(
            {.pod = pod, .spec = spec, .image_ref = "sha256:9", .platform = {.memory = 1 << 30}, .seccomp_default = by_default});
        return config->linux->security_context->seccomp->profile_type;
    };
    using Type = cri::SecurityProfileProfileType;
    EXPECT_EQ(profile_of("{}", true), Type::RuntimeDefault);
    EXPECT_EQ(profile_of("{}", false), Type::Unconfined);
    EXPECT_EQ(profile_of(R"({"seccompProfile":{"type":"Unconfined"}})", true), Type::Unconfined);
}

struct CgroupTest : testing::Test {
    void add(const std::string& path) {
        ASSERT_TRUE(files.create_directories(parent_path(path), 0755));
        ASSERT_TRUE(files.write(path, "", 0644));
    }
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
};

TEST_F(CgroupTest, VersionOneWritesToEachController) {
    add("/cg/cpu/cgroup.procs");
    add("/cg/memory/cgroup.procs");
    add("/cg/cpu/kubepods/podu/cpu.shares");
    add("/cg/cpu/kubepods/podu/cpu.cfs_quota_us");
    add("/cg/memory/kubepods/podu/memory.limit_in_bytes");
    add("/cg/pids/cgroup.procs");
    add("/cg/pids/kubepods/podu/pids.max");
    CgroupFiles cgroups(files, "/cg");
    EXPECT_FALSE(cgroups.is_v2());
    cri::LinuxContainerResources limits;
    limits.cpu_shares = 512;
    limits.memory_limit_in_bytes = 1000;
    ASSERT_TRUE(cgroups.ensure("/kubepods/podu", limits, 100));
    EXPECT_EQ(files.read("/cg/pids/kubepods/podu/pids.max").value(), "100");
    EXPECT_EQ(files.read("/cg/cpu/kubepods/podu/cpu.shares").value(), "512");
    EXPECT_EQ(files.read("/cg/cpu/kubepods/podu/cpu.cfs_quota_us").value(), "-1");
    EXPECT_EQ(files.read("/cg/memory/kubepods/podu/memory.limit_in_bytes").value(), "1000");
    EXPECT_EQ(cgroups.pods(""), (std::map<std::string, std::string>{{"u", "/kubepods/podu"}}));
}

TEST_F(CgroupTest, VersionTwoConvertsWeightsAndHandsControllersDown) {
    add("/cg/cgroup.controllers");
    add("/cg/kubepods/podu/cpu.weight");
    add("/cg/kubepods/podu/cpu.max");
    add("/cg/kubepods/podu/pids.max");
    CgroupFiles cgroups(files, "/cg");
    EXPECT_TRUE(cgroups.is_v2());
    cri::LinuxContainerResources limits;
    limits.cpu_shares = 1024;
    limits.cpu_quota = 50'000;
    ASSERT_TRUE(cgroups.ensure("/kubepods/podu", limits, -1));
    EXPECT_EQ(files.read("/cg/kubepods/podu/pids.max").value(), "") << "no limit is asked for";
    ASSERT_TRUE(cgroups.ensure("/kubepods/podu", limits, 4096));
    EXPECT_EQ(files.read("/cg/kubepods/podu/pids.max").value(), "4096");
    EXPECT_EQ(files.read("/cg/kubepods/podu/cpu.weight").value(), "39");
    EXPECT_EQ(files.read("/cg/kubepods/podu/cpu.max").value(), "50000 100000");
    EXPECT_EQ(files.read("/cg/kubepods/cgroup.subtree_control").value().substr(0, 1), "+");
}

// KBL-20, KBL-21: limits of job objects come from limits alone; requests only matter to the scheduler.
TEST(WindowsContainer, LimitsAreSharesOfTheWholeMachine) {
    struct {
        const char *limits, *what;
        std::int64_t processors, cpu_maximum, memory;
    } const rows[] = {
        {R"({"cpu":"2"})", "half of four", 4, 5000, 0},
        {R"({"cpu":"500m","memory":"128Mi"})", "an eighth", 4, 1250, 128 << 20},
        {R"({"cpu":"1m"})", "never none at all", 64, 1, 0},
        {R"({"cpu":"16"})", "never more than all", 4, 10000, 0},
        {R"({"memory":"1Gi"})", "no limit of cpu", 4, 0, 1 << 30},
    };
    for (const auto& row : rows) {
        const auto requirements =
            schema::decode_json<core::ResourceRequirements>(std::string(R"({"requests":{"cpu":"3"},"limits":)") + row.limits + "}").value();
        const cri::WindowsContainerResources resources = windows_resources(requirements.limits, row.processors);
        EXPECT_EQ(resources.cpu_maximum, row.cpu_maximum) << row.what;
        EXPECT_EQ(resources.memory_limit_in_bytes, row.memory) << row.what;
        EXPECT_EQ(resources.cpu_shares, 0) << row.what;
        EXPECT_EQ(resources.cpu_count, 0) << row.what;
    }
}

TEST(WindowsContainer, PathsGetADriveAndBackslashes) {
    EXPECT_EQ(windows_path("/var/log/pods"), "c:\\var\\log\\pods");
    EXPECT_EQ(windows_path("\\k\\x"), "c:\\k\\x");
    EXPECT_EQ(windows_path("etc"), "c:\\etc");
    EXPECT_EQ(windows_path("C:/k/config"), "C:\\k\\config");
    EXPECT_EQ(windows_path("\\\\.\\pipe\\docker_engine"), "\\\\.\\pipe\\docker_engine");
}

struct WindowsConfigTest : testing::Test {
    Result<cri::ContainerConfig> config(const char* pod_json, ImageUser user = {}) {
        pod = pod_of(pod_json);
        return make_container_config({.pod = pod,
                                      .spec = all_containers(pod).front(),
                                      .environment = {},
                                      .mounts = {cri::Mount{.container_path = "/data", .host_path = "/var/lib/kubelet/x"}},
                                      .image_ref = "sha256:1",
                                      .image_user = std::move(user),
                                      .platform = {.windows = true, .processors = 2}});
    }
    core::Pod pod;
};

TEST_F(WindowsConfigTest, SaysNothingOfLinux) {
    const auto made = config(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"1"}}}]}})");
    ASSERT_TRUE(made);
    EXPECT_FALSE(made->linux);
    ASSERT_TRUE(made->windows);
    EXPECT_EQ(made->windows->resources->cpu_maximum, 5000);
    EXPECT_EQ(made->mounts.front().container_path, "c:\\data");
    EXPECT_EQ(made->mounts.front().host_path, "c:\\var\\lib\\kubelet\\x");
}

// POD-12
TEST_F(WindowsConfigTest, NamedPipesAreMountedAsTheyAreWritten) {
    pod = pod_of(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})");
    const std::string pipe = R"(\\.\pipe\containerd-containerd)";
    const auto made = make_container_config({.pod = pod,
                                             .spec = all_containers(pod).front(),
                                             .environment = {},
                                             .mounts = {cri::Mount{.container_path = pipe, .host_path = pipe}},
                                             .image_ref = "sha256:1",
                                             .platform = {.windows = true, .processors = 2}});
    ASSERT_TRUE(made);
    EXPECT_EQ(made->mounts.front().container_path, pipe);
    EXPECT_EQ(made->mounts.front().host_path, pipe);
}

// RUN-05
TEST_F(WindowsConfigTest, RUN05_TheRuntimeIsToldOfCredentialsAndHostProcesses) {
    const char* text = R"({"metadata":{"name":"p"},"spec":{"hostNetwork":true,"securityContext":{"windowsOptions":{
        "gmsaCredentialSpec":"{\"CmsPlugins\":[]}","hostProcess":true,"runAsUserName":"NT AUTHORITY\\SYSTEM"}},"containers":[{"name":"c",
        "resources":{"limits":{"memory":"128Mi","cpu":"1"}}}]}})";
    const auto container = *config(text)->windows;
    EXPECT_EQ(container.security_context->credential_spec, R"({"CmsPlugins":[]})");
    EXPECT_TRUE(container.security_context->host_process);
    EXPECT_EQ(container.security_context->run_as_username, "NT AUTHORITY\\SYSTEM");
    EXPECT_EQ(container.resources->memory_limit_in_bytes, 128 << 20);
    const cri::WindowsPodSandboxConfig sandbox = windows_sandbox_config(pod_of(text));
    EXPECT_EQ(sandbox.security_context->credential_spec, R"({"CmsPlugins":[]})");
    EXPECT_EQ(sandbox.security_context->run_as_username, "NT AUTHORITY\\SYSTEM");
    EXPECT_TRUE(sandbox.security_context->host_process);
    EXPECT_EQ(sandbox.security_context->namespace_options->network, cri::NamespaceMode::Node);

    const char* plain = R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})";
    EXPECT_FALSE(config(plain)->windows->security_context->host_process);
    EXPECT_EQ(windows_sandbox_config(pod_of(plain)).security_context->namespace_options->network, cri::NamespaceMode::Pod);
}

// SEC-04
TEST_F(WindowsConfigTest, TheContainersUserWinsOverThePodsAndTheImages) {
    const char* text = R"({"metadata":{"name":"p"},"spec":{"securityContext":{"windowsOptions":{"runAsUserName":"ContainerUser"}},
        "containers":[{"name":"c","securityContext":{"windowsOptions":{"runAsUserName":"NT AUTHORITY\\SYSTEM"}}}]}})";
    EXPECT_EQ(config(text)->windows->security_context->run_as_username, "NT AUTHORITY\\SYSTEM");
    EXPECT_EQ(config(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})", {.name = "app"})
                  ->windows->security_context->run_as_username,
              "app");
}

// SEC-01
TEST_F(WindowsConfigTest, SEC01_WhoIsLetIntoSecretsIsWhoTheContainerRunsAs) {
    const auto reader = [](const std::string& options, const ImageUser& image_user) {
        const core::Pod pod = pod_of(R"({"metadata":{"name":"p"},"spec":{"securityContext":{"windowsOptions":{)" + options +
                                     R"(}},"containers":[{"name":"c"}]}})");
        return windows_reader(pod, pod.spec.containers[0], image_user);
    };
    constexpr const char* AnyContainer = "S-1-5-93-0";
    struct {
        const char* name;
        const char* options;
        const char* image_user;
        const char* expected;
    } const rows[] = {
        {"nobody says who", "", "", ""},
        {"the image's administrator", "", "ContainerAdministrator", ""},
        {"the image's user", "", "ContainerUser", "S-1-5-93-2-2"},
        {"an account of the image", "", "app", AnyContainer},
        {"the pod's word wins", R"("runAsUserName":"ContainerAdministrator")", "app", ""},
        {"with its domain", R"("runAsUserName":"User Manager\\containeruser")", "", "S-1-5-93-2-2"},
        {"the system", R"("runAsUserName":"NT AUTHORITY\\SYSTEM")", "", ""},
        {"an account of containers and hosts", R"("runAsUserName":"NT AUTHORITY\\NETWORK SERVICE")", "", AnyContainer},
        {"the host's account", R"("hostProcess":true,"runAsUserName":"NT AUTHORITY\\Local service")", "", "NT AUTHORITY\\Local service"},
        {"the host's system", R"("hostProcess":true,"runAsUserName":"NT AUTHORITY\\SYSTEM")", "", ""},
    };
    for (const auto& row : rows) EXPECT_EQ(reader(row.options, {.name = row.image_user}), row.expected) << row.name;
}

// SEC-05
TEST_F(WindowsConfigTest, RunAsNonRootRefusesTheAdministratorOnly) {
    const char* pod_text = R"({"metadata":{"name":"p"},"spec":{"securityContext":{"runAsNonRoot":true},"containers":[{"name":"c"}]}})";
    EXPECT_TRUE(config(pod_text));
    EXPECT_TRUE(config(pod_text, {.name = "ContainerUser"}));
    const auto refused = config(pod_text, {.name = "containeradministrator"});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("will break non-root policy"));
}

}  // namespace
}  // namespace porthole::kubelet
