#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"
#include "cmd/doctor/report/report.h"
#include "schema/json/json.h"

namespace porthole::cmd::doctor {
namespace {

using namespace std::chrono_literals;
using schema::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const SystemTime Now{std::chrono::seconds(1'767'225'600)};

/// A cluster in which all is as the benchmark wants it.
Evidence hardened() {
    Evidence evidence;
    evidence.now = Now;
    evidence.server_flags = {{"audit-log-path", "/a"},
                             {"audit-log-maxage", "30"},
                             {"audit-log-maxbackup", "10"},
                             {"audit-log-maxsize", "100"},
                             {"authorization-mode", "Node,RBAC"},
                             {"client-ca-file", "/ca"},
                             {"enable-admission-plugins",
                              "NamespaceLifecycle,ServiceAccount,NodeRestriction,PodSecurity,AlwaysPullImages,EventRateLimit,"
                              "DenyServiceExternalIPs,ImagePolicyWebhook"},
                             {"encryption-provider-config", "/e"},
                             {"encryption-providers", "aesgcm,identity"},
                             {"kubelet-certificate-authority", "/k"},
                             {"kubelet-client-certificate", "/k"},
                             {"pod-security-default", "baseline"},
                             {"profiling", "false"},
                             {"request-timeout", "60s"},
                             {"root-ca-file", "/ca"},
                             {"service-account-extend-token-expiration", "false"},
                             {"service-account-key-file", "/sa"},
                             {"service-account-private-key-file", "/sa"},
                             {"tls-cert-file", "/t"},
                             {"tls-min-version", "VersionTLS12"},
                             {"use-service-account-credentials", "true"}};
    evidence.anonymous = {{"/healthz", 200}, {"/version", 401}, {"/api/v1/secrets", 401}};
    Value kubelet = *schema::parse_json(R"({"authentication":{"anonymous":{"enabled":false},"x509":{"clientCAFile":"/ca"}},
        "authorization":{"mode":"Webhook"},"rotateCertificates":true,"serverTLSBootstrap":true,"podPidsLimit":4096,
        "seccompDefault":true,"protectKernelDefaults":true,"streamingConnectionIdleTimeout":"4h0m0s","eventRecordQPS":50})");
    evidence.kubelets = {{.node = "linux-1", .configuration = std::move(kubelet), .error = {}}};
    HostFacts host;
    host.files = {{FileFact::Kind::Key, "/pki/ca.key", 0600, 0, 0}, {FileFact::Kind::StoreFolder, "/store", 0700, 0, 0}};
    host.certificates = {{.name = "admin", .not_before = Now - 1h, .not_after = Now + 24h * 365, .key_kind = "EC", .key_bits = 256}};
    evidence.host = std::move(host);
    core::Namespace space;
    space.metadata.name = "shop";
    evidence.namespaces = {space};
    return evidence;
}

/// The findings that are neither a pass nor not applicable, as "verdict item: objects".
std::vector<std::string> problems(const Evidence& evidence) {
    std::vector<std::string> found;
    for (const Finding& finding : examine(evidence)) {
        if (finding.verdict == Verdict::Pass || finding.verdict == Verdict::NotApplicable) continue;
        EXPECT_NE(finding.remedy, "") << finding.item.number;
        std::string text = finding.verdict == Verdict::Fail ? "fail " : "warn ";
        text += *finding.item.number ? finding.item.number : finding.item.title;
        for (const std::string& object : finding.objects) text += " " + object;
        found.push_back(text);
    }
    return found;
}

std::vector<std::string> problems_after(const std::function<void(Evidence&)>& change) {
    Evidence evidence = hardened();
    change(evidence);
    return problems(evidence);
}

rbac::ClusterRoleBinding binding(const std::string& name, const std::string& role, const std::string& kind, const std::string& subject) {
    rbac::ClusterRoleBinding made;
    made.metadata.name = name;
    made.role_ref = {.api_group = "rbac.authorization.k8s.io", .kind = "ClusterRole", .name = role};
    made.subjects = {{.kind = kind, .api_group = {}, .name = subject, .namespace_ = kind == "ServiceAccount" ? "shop" : ""}};
    return made;
}

/// A pod that the level "restricted" admits.
core::Pod pod(const std::string& name) {
    core::Pod made;
    made.metadata.name = name;
    made.metadata.namespace_ = "shop";
    made.spec.service_account_name = "web";
    core::Container container;
    container.name = "c";
    core::SecurityContext context;
    context.run_as_non_root = true;
    context.allow_privilege_escalation = false;
    context.capabilities.emplace().drop = {"ALL"};
    container.security_context = context;
    made.spec.containers = {container};
    return made;
}

TEST(Doctor, AnEtcdIsReachedByCertificates) {
    const std::map<std::string, std::string> good = {{"etcd-servers", "https://a:2379"}, {"etcd-cafile", "/c"}, {"etcd-certfile", "/d"}};
    const auto with = [&](std::map<std::string, std::string> flags) {
        return problems_after([&](Evidence& evidence) { evidence.server_flags->merge(flags); });
    };
    EXPECT_THAT(with(good), ElementsAre("warn 2.1-7"));
    EXPECT_THAT(with({{"etcd-servers", "http://a:2379"}}), ElementsAre("fail 1.2.23", "fail 1.2.26", "fail 2.1-7"));
}

/// Of the finding about the plugin, the audit log's size and the pods' images.
std::vector<std::string> remedies(const Evidence& evidence) {
    std::vector<std::string> found;
    for (const Finding& finding : examine(evidence))
        for (const char* item : {"1.2.9", "1.2.11", "1.2.19"})
            if (std::string(finding.item.number) == item) found.push_back(finding.remedy);
    return found;
}

TEST(Doctor, ARemedyIsWhatTheUserOfThisClusterTypes) {
    Evidence evidence = hardened();
    (*evidence.server_flags)["enable-admission-plugins"] = "NodeRestriction,DenyServiceExternalIPs";
    (*evidence.server_flags)["audit-log-maxsize"] = "20";
    EXPECT_THAT(remedies(evidence),
                ElementsAre("porthole server --enable-admission-plugins=DenyServiceExternalIPs,EventRateLimit, with its limits in "
                            "--admission-control-config-file",
                            "porthole server --enable-admission-plugins=DenyServiceExternalIPs,AlwaysPullImages, if all images are in "
                            "registries that the nodes can reach",
                            "porthole server --audit-log-maxsize=100"));
    evidence.host->up_data_flag = " --data /d";
    EXPECT_THAT(remedies(evidence),
                ElementsAre("porthole down --data /d, then porthole up --data /d --hardened",
                            "porthole down --data /d, then porthole up --data /d --server-arg "
                            "enable-admission-plugins=DenyServiceExternalIPs,AlwaysPullImages, if all images are in registries that the "
                            "nodes can reach",
                            "porthole down --data /d, then porthole up --data /d --hardened"));
}

TEST(Doctor, FindsNothingInAHardenedCluster) {
    EXPECT_THAT(problems(hardened()), ElementsAre());
    EXPECT_THAT(problems_after([](Evidence& e) { e.pods = {pod("web")}; }), ElementsAre());
}

TEST(Doctor, TellsEachSettingThatIsNotAsItShouldBe) {
    struct {
        const char *name, *flag, *value, *expected;
    } const rows[] = {
        {"token file", "token-auth-file", "/t", "fail 1.2.2"},
        {"no external addresses", "enable-admission-plugins",
         "NamespaceLifecycle,ServiceAccount,NodeRestriction,PodSecurity,AlwaysPullImages,EventRateLimit,ImagePolicyWebhook",
         "warn 1.2.3 DenyServiceExternalIPs"},
        {"everyone may", "authorization-mode", "Node,RBAC,AlwaysAllow", "fail 1.2.6"},
        {"nothing judges images", "enable-admission-plugins",
         "NamespaceLifecycle,ServiceAccount,NodeRestriction,PodSecurity,AlwaysPullImages,EventRateLimit,DenyServiceExternalIPs",
         "warn 5.5.1"},
        {"no node authorizer", "authorization-mode", "RBAC", "fail 1.2.7"},
        {"kubelets without a certificate", "kubelets-unverified-until", "2126-01-01T00:00:00Z", "warn 1.2.5"},
        {"profiles", "profiling", "true", "fail 1.2.15"},
        {"no audit log", "audit-log-path", "", "fail 1.2.16"},
        {"short audit log", "audit-log-maxage", "7", "fail 1.2.17"},
        {"no time limit", "request-timeout", "0s", "fail 1.2.20"},
        {"not encrypted", "encryption-provider-config", "", "fail 1.2.27"},
        {"encrypted by nothing", "encryption-providers", "identity,aesgcm", "fail 1.2.28"},
        {"weak cipher", "tls-cipher-suites", "TLS_RSA_WITH_AES_128_CBC_SHA", "fail 1.2.29 TLS_RSA_WITH_AES_128_CBC_SHA"},
        {"long tokens", "service-account-extend-token-expiration", "true", "fail 1.2.30"},
        {"old TLS", "tls-min-version", "VersionTLS10", "fail the API server accepts TLS 1.2 and later"},
        {"no level", "pod-security-default", "privileged", "warn every namespace has a Pod Security level shop"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_THAT(problems_after([&](Evidence& e) { (*e.server_flags)[row.flag] = row.value; }), ElementsAre(row.expected));
    }
}

TEST(Doctor, DoesNotGuessWhatAServerDoesNotTell) {
    const auto found = problems_after([](Evidence& e) {
        e.server_flags.reset();
        e.server_flags_error = "forbidden";
    });
    EXPECT_THAT(found, testing::Contains("warn 1.2.16"));
    EXPECT_THAT(found, Not(testing::Contains(HasSubstr("fail"))));
}

TEST(Doctor, ReadsEachKubelet) {
    struct {
        const char *name, *field;
        Value value;
        const char* expected;
    } const rows[] = {
        {"read-only port", "readOnlyPort", 10255, "fail 4.2.4 linux-1 (port 10255)"},
        {"endless streams", "streamingConnectionIdleTimeout", "0s", "warn 4.2.5 linux-1 (never)"},
        {"old certificate", "rotateCertificates", false, "fail 4.2.10 linux-1 (not renewed)"},
        {"weak cipher", "tlsCipherSuites", Value::array({"TLS_RSA_WITH_AES_128_CBC_SHA"}),
         "fail 4.2.12 linux-1 (TLS_RSA_WITH_AES_128_CBC_SHA)"},
        {"no forward secrecy", "tlsCipherSuites", Value::array({"TLS_RSA_WITH_AES_128_GCM_SHA256"}),
         "fail 4.2.12 linux-1 (TLS_RSA_WITH_AES_128_GCM_SHA256)"},
        {"any number of processes", "podPidsLimit", -1, "warn 4.2.13 linux-1 (no limit)"},
        {"no seccomp", "seccompDefault", false, "warn 4.2.14 linux-1 (unconfined)"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_THAT(problems_after([&](Evidence& e) { (*e.kubelets[0].configuration)[row.field] = row.value; }), ElementsAre(row.expected));
    }
    EXPECT_THAT(problems_after([](Evidence& e) { e.kubelets.push_back({.node = "gone", .configuration = {}, .error = "no route"}); }),
                ElementsAre("warn every kubelet reports its settings gone (no route)"));
    const auto windows = problems_after([](Evidence& e) {
        e.kubelets[0].windows = true;
        e.kubelets[0].configuration->erase("podPidsLimit");
    });
    EXPECT_THAT(windows, ElementsAre()) << "what Windows does not have is not asked of it";
}

TEST(Doctor, ReadsModesOwnersAndCertificates) {
    EXPECT_THAT(problems_after([](Evidence& e) { e.host->files[0].mode = 0640; }), ElementsAre("fail 1.1.21 /pki/ca.key (640)"));
    EXPECT_THAT(problems_after([](Evidence& e) { e.host->files[0].uid = 1000; }), ElementsAre("fail 1.1.19 /pki/ca.key (1000:0)"));
    EXPECT_THAT(problems_after([](Evidence& e) { e.host->files[1].mode = 0755; }), ElementsAre("fail 1.1.11 /store (755)"));
    const auto certificate = [](auto change) { return problems_after([&](Evidence& e) { change(e.host->certificates[0]); }); };
    EXPECT_THAT(certificate([](CertificateFact& c) { c.not_after = Now; }), ElementsAre(HasSubstr("fail no certificate has expired")));
    EXPECT_THAT(certificate([](CertificateFact& c) { c.not_after = Now + 24h * 29; }),
                ElementsAre(HasSubstr("warn no certificate has expired")));
    EXPECT_THAT(certificate([](CertificateFact& c) { c.key_kind = "RSA", c.key_bits = 1024; }),
                ElementsAre("fail keys of certificates are long enough admin (RSA 1024)"));
    EXPECT_THAT(problems_after([](Evidence& e) { e.host.reset(); }), ElementsAre()) << "elsewhere there are no files to look at";
}

TEST(Doctor, TellsEmulatedHostsWhoseProgramsAreRootOfTheMachine) {
    const auto with = [](unsigned root) {
        return problems_after([root](Evidence& e) { e.host->emulated_hosts = {{"windows-1", 1'900'544'000}, {"windows-2", root}}; });
    };
    EXPECT_THAT(with(1'900'609'536), ElementsAre());
    EXPECT_THAT(with(0), ElementsAre("warn programs of emulated Windows hosts are not root of this machine windows-2"));
}

TEST(Doctor, TellsAnonymousRightsByWhatTheServerAnswers) {
    EXPECT_THAT(problems_after([](Evidence& e) { e.anonymous.back().code = 200; }), ElementsAre("fail 1.2.1 /api/v1/secrets"));
    EXPECT_THAT(problems_after([](Evidence& e) { e.anonymous[1].code = 200; }), ElementsAre("warn 1.2.1 /healthz /version"));
    const auto bound =
        problems_after([](Evidence& e) { e.cluster_role_bindings = {binding("open", "view", "Group", "system:unauthenticated")}; });
    EXPECT_THAT(bound, ElementsAre("fail no role is bound to anonymous users ClusterRole view by open"));
}

TEST(Doctor, TellsWhoHasTheRightsOfAnAdministrator) {
    const auto bound = [](const char* role, const char* kind, const char* subject) {
        return problems_after([&](Evidence& e) { e.cluster_role_bindings = {binding("b", role, kind, subject)}; });
    };
    EXPECT_THAT(bound("cluster-admin", "User", "ann"), ElementsAre("warn 5.1.1 User ann by b"));
    EXPECT_THAT(bound("cluster-admin", "Group", "system:serviceaccounts"), ElementsAre("fail 5.1.1 Group system:serviceaccounts by b"));
    EXPECT_THAT(bound("view", "Group", "system:masters"), ElementsAre("fail 5.1.7 ClusterRoleBinding b"));
    EXPECT_THAT(problems_after([](Evidence& e) {
                    e.admin_by_certificate = true;
                    e.admin_groups = {"system:masters"};
                }),
                ElementsAre("warn 3.1.1", "warn 5.1.7"));
}

TEST(Doctor, TellsRolesThatGiveTooMuch) {
    const auto gives = [](rbac::PolicyRule rule, bool bootstrap = false) {
        return problems_after([&](Evidence& e) {
            rbac::ClusterRole role;
            role.metadata.name = "r";
            if (bootstrap) role.metadata.labels["kubernetes.io/bootstrapping"] = "rbac-defaults";
            role.rules = {std::move(rule)};
            e.cluster_roles = {role};
        });
    };
    EXPECT_THAT(gives({.verbs = {"list"}, .api_groups = {""}, .resources = {"secrets"}}), ElementsAre("warn 5.1.2 ClusterRole r"));
    EXPECT_THAT(gives({.verbs = {"get"}, .api_groups = {""}, .resources = {"secrets"}, .resource_names = {"one"}}), ElementsAre());
    EXPECT_THAT(gives({.verbs = {"get"}, .api_groups = {"*"}, .resources = {"*"}}), ElementsAre("warn 5.1.3 ClusterRole r"));
    EXPECT_THAT(gives({.verbs = {"get"}, .api_groups = {"*"}, .resources = {"secrets"}}),
                ElementsAre("warn 5.1.2 ClusterRole r", "warn 5.1.3 ClusterRole r"));
    EXPECT_THAT(gives({.verbs = {"create"}, .api_groups = {""}, .resources = {"pods"}}), ElementsAre("warn 5.1.4 ClusterRole r"));
    EXPECT_THAT(gives({.verbs = {"impersonate"}, .api_groups = {""}, .resources = {"users"}}), ElementsAre("warn 5.1.8 ClusterRole r"));
    EXPECT_THAT(gives({.verbs = {"get"}, .api_groups = {""}, .resources = {"nodes/proxy"}}), ElementsAre("warn 5.1.10 ClusterRole r"));
    EXPECT_THAT(gives({.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}}, true), ElementsAre()) << "Kubernetes' own";
}

TEST(Doctor, TellsTokensThatAreOfNoUseOrDoNotEnd) {
    const auto mounted = [](const char* account, std::vector<rbac::ClusterRoleBinding> bindings) {
        return problems_after([&](Evidence& e) {
            core::Pod made = pod("web");
            made.spec.service_account_name = account;
            core::Volume& volume = made.spec.volumes.emplace_back();
            volume.projected.emplace().sources.emplace_back().service_account_token.emplace();
            e.pods = {made};
            core::ServiceAccount served;
            served.metadata.name = account;
            served.metadata.namespace_ = "shop";
            e.service_accounts = {served};
            e.cluster_role_bindings = std::move(bindings);
        });
    };
    EXPECT_THAT(mounted("web", {}), ElementsAre("warn 5.1.6 shop/web"));
    EXPECT_THAT(mounted("web", {binding("b", "view", "ServiceAccount", "web")}), ElementsAre());
    EXPECT_THAT(mounted("default", {}), ElementsAre("warn 5.1.5 shop/web", "warn 5.1.6 shop/web"));
    EXPECT_THAT(mounted("default", {binding("b", "view", "ServiceAccount", "default")}), ElementsAre("fail 5.1.5 shop/default"));

    const auto secret = problems_after([](Evidence& e) {
        e.account_tokens = {
            {.namespace_ = "shop", .name = "t", .account = "web", .created = Now - 48h, .expires = {}, .last_used = "2025-12-01"}};
        e.bootstrap_tokens = {
            {.namespace_ = "kube-system", .name = "bootstrap-token-a", .account = {}, .expires = Now + 1h, .last_used = {}},
            {.namespace_ = "kube-system", .name = "bootstrap-token-b", .account = {}, .expires = {}, .last_used = {}}};
    });
    EXPECT_THAT(secret,
                ElementsAre("warn 3.1.2 shop/t", "warn service account tokens expire shop/t (account web, 2d old, last used 2025-12-01)",
                            "warn bootstrap tokens expire within a day bootstrap-token-b (does not expire)"));
}

TEST(Doctor, TellsWhatPodsMayDoToTheirNodes) {
    struct {
        const char* name;
        void (*change)(core::Pod&);
        const char* expected;
    } const rows[] = {
        {"privileged", [](core::Pod& p) { p.spec.containers[0].security_context->privileged = true; }, "warn 5.2.2 shop/web"},
        {"process ids", [](core::Pod& p) { p.spec.host_pid = true; }, "warn 5.2.3 shop/web"},
        {"IPC", [](core::Pod& p) { p.spec.host_ipc = true; }, "warn 5.2.4 shop/web"},
        {"network", [](core::Pod& p) { p.spec.host_network = true; }, "warn 5.2.5 shop/web"},
        {"escalation", [](core::Pod& p) { p.spec.containers[0].security_context->allow_privilege_escalation.reset(); },
         "warn 5.2.6 shop/web"},
        {"root", [](core::Pod& p) { p.spec.containers[0].security_context->run_as_non_root.reset(); }, "warn 5.2.7 shop/web"},
        {"capabilities", [](core::Pod& p) { p.spec.containers[0].security_context->capabilities->drop = {"NET_RAW"}; },
         "warn 5.2.9 shop/web"},
        {"HostProcess", [](core::Pod& p) { p.spec.containers[0].security_context->windows_options.emplace().host_process = true; },
         "warn 5.2.10 shop/web"},
        {"hostPath", [](core::Pod& p) { p.spec.volumes.emplace_back().host_path.emplace().path = "/"; }, "warn 5.2.11 shop/web"},
        {"host port", [](core::Pod& p) { p.spec.containers[0].ports.emplace_back().host_port = 80; }, "warn 5.2.12 shop/web"},
        {"secret in the environment",
         [](core::Pod& p) { p.spec.containers[0].env.emplace_back().value_from.emplace().secret_key_ref.emplace(); },
         "warn 5.4.1 shop/web"},
        {"namespace default", [](core::Pod& p) { p.metadata.namespace_ = "default"; }, "warn 5.6.4 web"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_THAT(problems_after([&](Evidence& e) {
                        e.pods = {pod("web")};
                        row.change(e.pods[0]);
                    }),
                    ElementsAre(row.expected));
    }
}

TEST(Doctor, PrintsRemediesAndCounts) {
    Evidence evidence = hardened();
    (*evidence.server_flags)["profiling"] = "true";
    const auto findings = examine(evidence);
    EXPECT_TRUE(has_failed(findings));
    EXPECT_FALSE(has_failed(examine(hardened())));
    const std::string text = to_text(findings, {.color = false, .everything = false});
    EXPECT_EQ(text.substr(0, text.find("\n\n")),
              "1.2 API server\n"
              "  ✗ 1.2.15   profiling of the API server is disabled\n"
              "             fail: --profiling=true\n"
              "             remedy: not a flag of `porthole server`; another server: set --profiling=false");
    EXPECT_THAT(text, HasSubstr(" 0 warn, 1 fail, "));
    EXPECT_THAT(to_text(findings, {.color = true, .everything = true}), HasSubstr("\033[31m✗\033[0m 1.2.15"));
    const auto json = schema::parse_json(schema::to_json(to_value(findings)));
    ASSERT_TRUE(json);
    EXPECT_EQ(json->at_path({"summary", "fail"})->as_int(), 1);
    EXPECT_EQ(json->find("findings")->as_array().size(), findings.size());
}

TEST(Doctor, OrdersByTheNumbersOfTheBenchmark) {
    std::vector<std::string> numbers;
    for (const Finding& finding : examine(hardened())) numbers.emplace_back(finding.item.number);
    const auto at = [&](const char* number) { return std::ranges::find(numbers, number) - numbers.begin(); };
    EXPECT_LT(at("1.2.9"), at("1.2.10"));
    EXPECT_LT(at("1.2.30"), at("1.3.1"));
    EXPECT_LT(at("5.6.4"), at(""));
}

}  // namespace
}  // namespace porthole::cmd::doctor
