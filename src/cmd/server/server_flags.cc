#include "cmd/server/server_flags.h"

#include "cmd/program/duration_flag.h"
#include "cmd/program/effective_flags.h"
#include "cmd/server/access_flags.h"

namespace porthole::cmd {
namespace {

void add_flow_control_options(CLI::App& app, ServerFlags& flags) {
    app.add_option("--max-requests-inflight", flags.limits.reading, "maximum number of read requests in progress")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--max-mutating-requests-inflight", flags.limits.mutating, "maximum number of write requests in progress")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_flag("--enable-priority-and-fairness", flags.priority_and_fairness,
                 "divide the sum of both limits among priority levels, and queue requests fairly; false: only enforce the limits")
        ->default_str("true");
    add_duration(app, "--request-timeout", flags.limits.request_time,
                 "time after which a request is answered 504, unless it is a watch, log, exec, attach, port-forward or proxy request; "
                 "a quarter of it is the longest time in a queue");
}

/// With kube-controller-manager's flags.
void add_node_lifecycle_options(CLI::App& app, ServerFlags& flags) {
    add_duration(app, "--node-monitor-grace-period", flags.node_monitor_grace,
                 "time without a heartbeat after which a node is not ready; nodes send one every 10s");
    constexpr double Least = 0.001, Most = 1000;
    app.add_option_function<double>(
           "--node-eviction-rate",
           [&flags](double rate) {
               if (rate != 0 && !(rate >= Least && rate <= Most))  // nor "nan"
                   throw CLI::ValidationError("--node-eviction-rate", "a number from 0.001 to 1000 is expected, or 0");
               flags.node_eviction_rate = rate;
           },
           "nodes per second and zone, of those that are not ready, whose pods are evicted; 0: none")
        ->default_str("0.1");
}

}  // namespace

void add_server_flags(CLI::App& app, ServerFlags& flags) {
    app.add_option("--data", flags.data, "the cluster's data directory")->capture_default_str();
    app.add_option("--bind-address", flags.bind_address, "address to listen on")->capture_default_str();
    app.add_option("--port", flags.port, "port to listen on")->capture_default_str();
    app.add_option("--advertise-address", flags.advertise_address, "address at which nodes and pods reach this server")
        ->capture_default_str();
    app.add_option("--service-cidr,--service-cluster-ip-range", flags.service_cidr, "addresses of services")->capture_default_str();
    app.add_option("--cluster-cidr", flags.cluster_cidr, "addresses of pods")->capture_default_str();
    app.add_option("--node-cidr-mask-size,--node-cidr-mask-size-ipv4", flags.node_cidr_mask_size,
                   "prefix length of each node's part of --cluster-cidr; a smaller part limits the pods of a node")
        ->check(CLI::Range(8, 30))
        ->capture_default_str();
    add_node_lifecycle_options(app, flags);
    app.add_option("--feature-gates", flags.feature_gates,
                   "NAME=true or NAME=false, separated by commas: IdentifyPodOS=false drops spec.os of new pods")
        ->delimiter(',');
    app.add_option(
           "--runtime-config", flags.runtime_config,
           "API versions to enable that are off by default, separated by commas: extensions/v1beta1=true accepts its manifests as apps/v1; "
           "certificates.k8s.io/v1beta1=true serves ClusterTrustBundles and PodCertificateRequests")
        ->delimiter(',');
    app.add_option("--backend", flags.backend,
                   "pod network between nodes, which joining nodes adopt: host-gw, vxlan, or alloc (a router has the routes)")
        ->check(CLI::IsMember({"host-gw", "vxlan", "alloc"}))
        ->capture_default_str();
    app.add_option("--cluster-dns", flags.cluster_dns, "address of the cluster's DNS")->capture_default_str();
    app.add_option("--cluster-domain", flags.cluster_domain, "domain of services")->capture_default_str();
    add_audit_flags(app, flags.audit);
    add_encryption_flags(app, flags.encryption);
    CLI::Option* etcd = add_etcd_flags(app, flags.etcd);
    app.add_option(
           "--server-token-file", flags.server_token_file,
           "file with a token that is the same on every server of that etcd; the servers share their authorities and keys, sealed with it")
        ->needs(etcd);
    add_election_flags(app, flags.election, etcd);
    add_access_flags(app, flags.access);
    add_flow_control_options(app, flags);
    CLI::Option* scheduler_config =
        app.add_option("--scheduler-config", flags.scheduler_config,
                       "file with the scheduler's profiles (KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1)");
    app.add_flag("--disable-scheduler", flags.disable_scheduler, "run no scheduler: another one binds the pods")
        ->excludes(scheduler_config);
    app.add_flag("--disable-controller-manager", flags.disable_controller_manager,
                 "run no controllers: another kube-controller-manager runs them");
    app.add_option("--kubelet-certificate-authority", flags.kubelet_certificate_authority,
                   "file of the authority that signs kubelets' serving certificates (default: pki/kubelet-serving-ca.crt)");
    app.add_option(
           "--store-quota-bytes", flags.store_quota_bytes,
           "size of all objects with their history above which creates and updates are refused; 0: no limit. An etcd has its own limit")
        ->excludes(etcd)
        ->capture_default_str();
    app.add_option("--service-account-issuer", flags.service_account_issuers,
                   "issuer of service accounts' tokens; can be repeated: the first one issues tokens, and those of all are accepted "
                   "(default: https://kubernetes.default.svc. and the cluster domain)")
        ->allow_extra_args(false)
        ->check(CLI::Validator(
            [seen = std::set<std::string>()](const std::string& issuer) mutable {
                if (issuer.empty()) return std::string("must not be empty");
                return seen.insert(issuer).second ? std::string() : issuer + " is given twice";
            },
            ""));
    app.add_option("--service-account-extend-token-expiration", flags.extend_service_account_tokens,
                   "extend pods' tokens to a year, for programs that do not reread them (true or false)")
        ->default_str("true");
    app.add_option("--tls-min-version", flags.tls_min_version, "VersionTLS12 (default) or VersionTLS13");
    app.add_option("--tls-cipher-suites", flags.tls_cipher_suites,
                   "TLS 1.2 ciphers to accept, separated by commas; TLS 1.3 ciphers are always accepted")
        ->delimiter(',');
    app.add_option("--connection-thread", flags.connection_thread,
                   "serve connections on a separate thread (true or false; default: true with four processors or more)")
        ->default_str(flags.connection_thread ? "true" : "false");
    app.add_flag("--revive-supervisor", flags.revive_supervisor, "restart the supervisor when it dies");
    app.add_flag("--verbose,-v", flags.verbose, "log at debug level");
    app.footer(
        "When it is ready, it prints the path of the administrator's kubeconfig and how nodes join.\n\n"
        "Examples:\n"
        "  porthole server --advertise-address 10.0.0.5       nodes reach this machine at 10.0.0.5\n"
        "  porthole server --backend vxlan --advertise-address 10.0.0.5\n"
        "                                                     if the nodes are not on one link\n"
        "  porthole token create --print-join-command         in another terminal: the command to run on a node");
}

Result<void> check_server_flags(std::vector<std::string> words) {
    ServerFlags flags;
    CLI::App app("", "server");
    add_server_flags(app, flags);
    std::optional<std::string> why;
    try {
        why = parse_arguments(app, std::move(words));
    } catch (const CLI::ParseError&) {
        why = "--help starts no server";
    }
    return why ? Result<void>(Error(Reason::BadRequest, "porthole server: " + *why)) : Result<void>();
}

std::vector<std::string> service_account_issuers(const ServerFlags& flags) {
    if (!flags.service_account_issuers.empty()) return flags.service_account_issuers;
    return {"https://kubernetes.default.svc." + flags.cluster_domain};
}

std::map<std::string, std::string> shown_flags(const CLI::App& app, const ServerFlags& flags) {
    std::map<std::string, std::string> shown = effective_flags(app);
    const std::filesystem::path pki = local_cluster::DataDir(flags.data).pki();
    const std::pair<const char*, std::string> fixed[] = {
        {"allow-privileged", "true"},
        {"authorization-mode", "Node,RBAC"},
        {"client-ca-file", pki / "ca.crt"},
        {"kubelet-client-certificate", pki / "apiserver-kubelet-client.crt"},
        {"kubelet-client-key", pki / "apiserver-kubelet-client.key"},
        {"profiling", "false"},
        {"root-ca-file", pki / "ca.crt"},
        {"service-account-key-file", pki / "sa.key"},
        {"service-account-lookup", "true"},
        {"service-account-private-key-file", pki / "sa.key"},
        {"tls-cert-file", pki / "apiserver.crt"},
        {"tls-private-key-file", pki / "apiserver.key"},
        {"use-service-account-credentials", "true"},
    };
    for (const auto& [name, value] : fixed)
        if (std::string& given = shown[name]; given.empty()) given = value;
    if (!flags.access.authorization_config.empty()) shown["authorization-mode"] = "";  // that file says which
    std::string& kubelet_ca = shown["kubelet-certificate-authority"];
    if (kubelet_ca.empty()) kubelet_ca = pki / "kubelet-serving-ca.crt";
    shown["service-account-issuer"] = join(service_account_issuers(flags), ",");
    std::string& encryption = shown["encryption-provider-config"];
    if (encryption.empty()) encryption = local_cluster::DataDir(flags.data).encryption_file();
    std::string& oldest_tls = shown["tls-min-version"];
    if (oldest_tls.empty()) oldest_tls = "VersionTLS12";
    return shown;
}

}  // namespace porthole::cmd
