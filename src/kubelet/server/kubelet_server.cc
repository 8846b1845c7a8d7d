#include "kubelet/server/kubelet_server.h"

#include <fmt/format.h>

#include <charconv>

#include "base/result.h"
#include "kubelet/server/idle_limit.h"
#include "kubelet/server/log_reader.h"
#include "kubelet/server/node_log_query.h"
#include "kubelet/server/stats.h"
#include "kubelet/server/streaming.h"
#include "runtime/asio_loop.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using schema::Value;
using Query = std::vector<std::pair<std::string, std::string>>;

constexpr const char* Text = "text/plain; charset=utf-8";
constexpr const char* Metrics = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* Json = "application/json";

net::Bytes bytes_of(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

Task<> respond(net::HttpResponder& responder, int code, const char* type, std::string text) {
    std::vector<net::Bytes> body;
    body.push_back(bytes_of(std::move(text)));
    co_return co_await responder.respond(code, {{"content-type", type}}, std::move(body));
}

std::string value_of(const Query& query, std::string_view key) {
    for (const auto& [name, value] : query)
        if (name == key) return value;
    return "";
}

bool is_on(const Query& query, std::string_view key) {
    const std::string value = value_of(query, key);
    return value == "1" || value == "true" || value == "True" || value == "TRUE" || value == "t" || value == "T";
}

std::vector<std::string> values_of(const Query& query, std::string_view key) {
    std::vector<std::string> values;
    for (const auto& [name, value] : query)
        if (name == key) values.push_back(value);
    return values;
}

Result<std::optional<std::int64_t>> number_of(const Query& query, std::string_view key) {
    const std::string text = value_of(query, key);
    if (text.empty()) return std::optional<std::int64_t>();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0)
        return Error(Reason::BadRequest, "Unable to decode the request as container log options: " + std::string(key) + " is not a number");
    return std::optional(number);
}

net::RemoteCommandOptions streams_of(const Query& query) {
    return {.input = is_on(query, "input") || is_on(query, "stdin"),
            .output = is_on(query, "output") || is_on(query, "stdout"),
            .errors = is_on(query, "error") || is_on(query, "stderr"),
            .tty = is_on(query, "tty")};
}

/// "containerd://id" → "id".
std::string bare_id(const std::string& id) {
    const std::size_t mark = id.find("://");
    return mark == std::string::npos ? id : id.substr(mark + 3);
}

const core::ContainerStatus* find_status(const core::PodStatus& status, const std::string& name) {
    for (const auto* list : {&status.container_statuses, &status.init_container_statuses, &status.ephemeral_container_statuses})
        for (const core::ContainerStatus& one : *list)
            if (one.name == name) return &one;
    return nullptr;
}

}  // namespace

struct KubeletServer::Impl {
    Impl(AsioLoop& loop, Kubelet& kubelet, AccessPolicy policy, Logger log, NodeLogPolicy node_log_policy)
        : loop(loop),
          kubelet(kubelet),
          access(loop, kubelet.dependencies().client, std::move(policy), kubelet.config().node.name),
          stats(kubelet),
          log(std::move(log)),
          node_log_policy(std::move(node_log_policy)) {}

    Task<> route(net::HttpRequest request, net::HttpResponder& responder) {
        CO_TRY_VOID(co_await access.check(request));
        const std::vector<std::string> path = net::split_path(request.path);
        const Query query = net::parse_query(request.query);
        const std::string first = path.empty() ? "" : path[0];
        if (first == "healthz") co_return co_await respond(responder, 200, Text, "ok");
        if (first == "pods" || first == "runningpods") co_return co_await list_pods(responder);
        if (first == "containerLogs" && path.size() == 4) co_return co_await logs(path[1], path[2], path[3], query, responder);
        if (first == "exec" || first == "attach" || first == "run") co_return co_await command(path, query, std::move(request), responder);
        if (first == "portForward" && (path.size() == 3 || path.size() == 4)) {
            CO_TRY(const std::string sandbox, co_await sandbox_of(path[1], path[2]));
            IdleLimit limited = limit_idle(responder);
            auto ended = co_await stream_port_forward(loop, kubelet.dependencies().runtime, std::move(request), limited, sandbox);
            CO_TRY_VOID(co_await limited.close());
            co_return ended;
        }
        if (request.path == "/stats/summary" || request.path == "/stats/summary/") {
            CO_TRY(const Value summary, co_await stats.summary(is_on(query, "only_cpu_and_memory")));
            co_return co_await respond(responder, 200, Json, schema::to_json(summary));
        }
        if (request.path == "/metrics") co_return co_await respond(responder, 200, Metrics, stats.kubelet_metrics());
        if (request.path == "/metrics/resource") {
            CO_TRY(std::string text, co_await stats.resource_metrics());
            co_return co_await respond(responder, 200, Metrics, std::move(text));
        }
        if (request.path == "/metrics/cadvisor") {
            CO_TRY(std::string text, co_await stats.cadvisor_metrics());
            co_return co_await respond(responder, 200, Metrics, std::move(text));
        }
        if (request.path == "/configz") co_return co_await respond(responder, 200, Json, configuration());
        if (first == "logs") co_return co_await node_logs(path, query, responder);
        co_return Error(Reason::NotFound, "404 page not found");
    }

    Task<> list_pods(net::HttpResponder& responder) {
        core::PodList list;
        for (const auto& pod : kubelet.pods().pods()) {
            core::Pod& shown = list.items.emplace_back(*pod);
            if (const core::PodStatus* status = kubelet.statuses().find(pod->metadata.uid)) shown.status = *status;
        }
        co_return co_await respond(responder, 200, Json, schema::encode_json(list));
    }

    Result<const core::PodStatus*> status_of(const std::string& namespace_, const std::string& name) {
        const PodWorker* worker = kubelet.pods().find(namespace_, name);
        if (!worker) return Error(Reason::NotFound, "pod \"" + name + "\" not found");
        const core::PodStatus* status = kubelet.statuses().find(worker->pod().metadata.uid);
        return status ? status : &worker->pod().status;
    }

    /// Error: InternalError in upstream's words, which are others for /attach.
    Result<std::string> running_container(const std::vector<std::string>& path) {
        const std::string &namespace_ = path[1], &pod = path[2], &container = path.back();
        TRY(const core::PodStatus* status, status_of(namespace_, pod));
        const core::ContainerStatus* found = find_status(*status, container);
        if (found && found->state.running && !found->container_id.empty()) return bare_id(found->container_id);
        return Error(Reason::InternalError, path[0] == "attach" ? "container " + container + " not found in pod " + pod + "_" + namespace_
                                                                : "container not found (\"" + container + "\")");
    }

    Task<std::string> sandbox_of(std::string namespace_, std::string name) {
        const PodWorker* worker = kubelet.pods().find(namespace_, name);
        if (!worker) co_return Error(Reason::NotFound, "pod \"" + name + "\" not found");
        cri::ListPodSandboxRequest request;
        request.filter.emplace().label_selector[PodUidLabel] = worker->pod().metadata.uid;
        request.filter->state.emplace().state = cri::PodSandboxState::SandboxReady;
        CO_TRY(const auto listed, co_await kubelet.dependencies().runtime.list_pod_sandbox(std::move(request)));
        for (const cri::PodSandbox& sandbox : listed.items)
            if (sandbox.state == cri::PodSandboxState::SandboxReady) co_return std::string(sandbox.id);
        co_return Error(Reason::NotFound, "pod not found (\"" + name + "_" + namespace_ + "\")");
    }

    Task<> command(std::vector<std::string> path, Query query, net::HttpRequest request, net::HttpResponder& responder) {
        // /exec/{namespace}/{pod}[/{uid}]/{container}
        if (path.size() != 4 && path.size() != 5) co_return Error(Reason::NotFound, "404 page not found");
        CO_TRY(const std::string id, running_container(path));
        std::vector<std::string> words = values_of(query, "command");
        if (path[0] == "run") co_return co_await run_to_end(id, value_of(query, "cmd"), responder);
        const net::RemoteCommandOptions options = streams_of(query);
        if (!options.input && !options.output && !options.errors)
            co_return Error(Reason::BadRequest, "you must specify at least 1 of stdin, stdout, stderr");
        RuntimeService& runtime = kubelet.dependencies().runtime;
        IdleLimit limited = limit_idle(responder);
        auto ended = path[0] == "attach" ? stream_attach(loop, runtime, std::move(request), limited, id, options)
                                         : stream_exec(loop, runtime, std::move(request), limited, id, std::move(words), options);
        const auto result = co_await std::move(ended);
        CO_TRY_VOID(co_await limited.close());
        co_return result;
    }

    /// `/run`: a command without streams, split at blanks.
    Task<> run_to_end(std::string id, std::string text, net::HttpResponder& responder) {
        cri::ExecSyncRequest request;
        request.container_id = std::move(id);
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t blank = std::min(text.find(' ', at), text.size());
            if (blank > at) request.cmd.push_back(text.substr(at, blank - at));
            at = blank + 1;
        }
        CO_TRY(auto ended, co_await kubelet.dependencies().runtime.exec_sync(std::move(request)));
        co_return co_await respond(responder, 200, Text, ended.stdout + ended.stderr);
    }

    /// Which container's log is meant. Error: BadRequest in upstream's words.
    Result<std::string> log_container(const core::PodStatus& status, const std::string& pod, const std::string& container, bool previous) {
        const core::ContainerStatus* found = find_status(status, container);
        const std::string quoted = "container \"" + container + "\" in pod \"" + pod + "\"";
        if (!found) return Error(Reason::BadRequest, quoted + " is not available");
        if (previous) {
            if (found->last_state.terminated && !found->last_state.terminated->container_id.empty())
                return bare_id(found->last_state.terminated->container_id);
            return Error(Reason::BadRequest, "previous terminated " + quoted + " not found");
        }
        if (found->state.running) return bare_id(found->container_id);
        if (found->state.terminated) {
            if (!found->state.terminated->container_id.empty()) return bare_id(found->state.terminated->container_id);
            return Error(Reason::BadRequest, quoted + " is terminated");
        }
        if (found->last_state.terminated && !found->last_state.terminated->container_id.empty())
            return bare_id(found->last_state.terminated->container_id);
        const std::string& reason = found->state.waiting ? found->state.waiting->reason : "";
        if (reason == "ImagePullBackOff" || reason == "ErrImagePull")
            return Error(Reason::BadRequest, quoted + " is waiting to start: trying and failing to pull image");
        return Error(Reason::BadRequest, quoted + " is waiting to start: " + (reason.empty() ? "no reason" : reason));
    }

    Result<LogOptions> log_options(const Query& query) {
        LogOptions options;
        options.follow = is_on(query, "follow");
        options.timestamps = is_on(query, "timestamps");
        TRY(options.tail_lines, number_of(query, "tailLines"));
        TRY(options.limit_bytes, number_of(query, "limitBytes"));
        TRY(const auto since_seconds, number_of(query, "sinceSeconds"));
        if (since_seconds) {
            constexpr std::int64_t Second = 1'000'000'000;
            const std::int64_t now = loop.wall_now().time_since_epoch().count();
            options.since = now - std::clamp<std::int64_t>(*since_seconds, 0, now / Second) * Second;
        }
        if (const std::string since = value_of(query, "sinceTime"); !since.empty()) {
            options.since = parse_log_time(since);
            if (!options.since) return Error(Reason::BadRequest, "sinceTime is not a valid RFC 3339 time: " + since);
        }
        const std::string stream = value_of(query, "stream");
        options.stream = stream == "Stdout" ? "stdout" : stream == "Stderr" ? "stderr" : "";
        return options;
    }

    Task<cri::ContainerStatus> container_status(std::string id) {
        cri::ContainerStatusRequest request;
        request.container_id = std::move(id);
        CO_TRY(auto found, co_await kubelet.dependencies().runtime.container_status(std::move(request)));
        if (!found.status) co_return Error(Reason::NotFound, "container not found");
        co_return std::move(*found.status);
    }

    Task<bool> is_alive(std::string id) {
        const auto status = co_await container_status(std::move(id));
        if (is_cancelled(status)) co_return status.error();
        co_return bool(status && (is_running(*status) || status->state == cri::ContainerState::ContainerCreated));
    }

    static Task<> send(net::HttpResponder& responder, std::string text) { return responder.write(bytes_of(std::move(text))); }

    Task<> logs(std::string namespace_, std::string pod, std::string container, Query query, net::HttpResponder& responder) {
        const PodWorker* worker = kubelet.pods().find(namespace_, pod);
        if (!worker) co_return Error(Reason::NotFound, "pod \"" + pod + "\" not found");
        if (!find_container(worker->pod(), container))
            co_return Error(Reason::NotFound, "container \"" + container + "\" not found in pod \"" + pod + "\"");
        CO_TRY(const core::PodStatus* status, status_of(namespace_, pod));
        CO_TRY(LogOptions options, log_options(query));
        CO_TRY(const std::string id, log_container(*status, pod, container, is_on(query, "previous")));
        auto found = co_await container_status(id);
        if (!found)
            co_return Error(Reason::InternalError, "unable to retrieve container logs for " + kubelet.node().runtime_name + "://" + id);
        LogReader reader(loop, kubelet.dependencies().files, found->log_path, std::move(options));
        CO_TRY_VOID(co_await responder.start(200, {{"content-type", "text/plain"}}));
        const auto read = co_await reader.run([&responder](std::string text) { return send(responder, std::move(text)); },
                                              [this, id] { return is_alive(id); });
        if (!read && !is_not_found(read)) co_return read.error();
        co_return co_await responder.finish();
    }

    /// What `query` asks of the node's log files; else those of its log directory, and lists of them.
    Task<> node_logs(std::vector<std::string> path, Query query, net::HttpResponder& responder) {
        FileSystem& files = kubelet.dependencies().files;
        const std::string& root = node_log_policy.directory;
        if (node_log_policy.query && path.size() == 1) {
            CO_TRY(const auto asked, NodeLogQuery::parse(query));
            if (asked) {
                CO_TRY(std::string lines, asked->run(files, {.own = node_log_policy.folders, .root = root}));
                co_return co_await respond(responder, 200, Text, std::move(lines));
            }
        }
        path.erase(path.begin());
        CO_TRY(const std::string real, file_below(files, root, path));
        CO_TRY(const FileStatus status, files.status(real));
        if (status.is_directory()) {
            CO_TRY(const auto names, files.list(real));
            std::string text = "<pre>\n";
            for (const std::string& name : names) text += "<a href=\"" + net::percent_encode(name) + "\">" + name + "</a>\n";
            co_return co_await respond(responder, 200, "text/html; charset=utf-8", text + "</pre>\n");
        }
        co_return co_await send_file(responder, real, status.size);
    }

    /// Piece by piece, at the pace of the reader; what is written meanwhile is left out.
    Task<> send_file(net::HttpResponder& responder, std::string path, std::uint64_t size) {
        constexpr std::uint64_t Piece = 256 << 10;
        CO_TRY_VOID(co_await responder.start(200, {{"content-type", Text}}));
        for (std::uint64_t offset = 0; offset < size;) {
            CO_TRY(std::string piece, kubelet.dependencies().files.read_at(path, offset, std::min(Piece, size - offset)));
            if (piece.empty()) break;  // cut meanwhile
            offset += piece.size();
            CO_TRY_VOID(co_await send(responder, std::move(piece)));
        }
        co_return co_await responder.finish();
    }

    IdleLimit limit_idle(net::HttpResponder& responder) { return IdleLimit(loop, responder, kubelet.config().streaming_idle); }

    std::string configuration() {
        const KubeletConfig& config = kubelet.config();
        Value dns = Value::array();
        for (const std::string& server : config.cluster_dns) dns.as_array().push_back(server);
        Value shown = Value::object({{"kind", "KubeletConfiguration"},
                                     {"apiVersion", "kubelet.config.k8s.io/v1beta1"},
                                     {"staticPodPath", config.static_pod_directory},
                                     {"clusterDomain", config.cluster_domain},
                                     {"clusterDNS", std::move(dns)},
                                     {"maxPods", config.node.max_pods},
                                     {"port", config.node.port},
                                     {"resolvConf", config.resolv_conf},
                                     {"containerLogMaxSize", std::to_string(config.log_max_bytes)},
                                     {"containerLogMaxFiles", config.log_max_files},
                                     {"cgroupDriver", "cgroupfs"},
                                     {"cgroupsPerQOS", !kubelet.node().windows},
                                     // What is reserved is kept from pods by the scheduler, from nobody by force.
                                     {"enforceNodeAllocatable", Value::array()},
                                     {"podLogsDir", config.log_root}});
        Value& gates = shown["featureGates"] = Value::object();
        for (const auto& gate : config.feature_gates) gates[gate] = true;
        add_access(shown);
        add_kept_back(shown);
        return schema::to_json(Value::object({{"kubeletconfig", std::move(shown)}}));
    }

    /// Who may come in, and how: what cannot be chosen is as it always is.
    void add_access(Value& shown) const {
        const KubeletConfig& config = kubelet.config();
        const KubeletConfig::Serving& serving = config.serving;
        shown["authentication"] = Value::object({{"anonymous", Value::object({{"enabled", false}})},
                                                 {"webhook", Value::object({{"enabled", true}})},
                                                 {"x509", Value::object({{"clientCAFile", serving.client_ca_file}})}});
        shown["authorization"] = Value::object({{"mode", "Webhook"}});
        shown["readOnlyPort"] = 0;
        shown["rotateCertificates"] = serving.rotate_certificates;
        shown["serverTLSBootstrap"] = serving.issued_by_cluster;
        if (!serving.tls_cert_file.empty()) shown["tlsCertFile"] = serving.tls_cert_file;
        if (!serving.tls_private_key_file.empty()) shown["tlsPrivateKeyFile"] = serving.tls_private_key_file;
        shown["tlsMinVersion"] = serving.tls_min_version.empty() ? "VersionTLS12" : serving.tls_min_version;
        if (!serving.tls_cipher_suites.empty()) {
            Value& suites = shown["tlsCipherSuites"] = Value::array();
            for (const std::string& suite : serving.tls_cipher_suites) suites.as_array().push_back(suite);
        }
        const bool ends = config.streaming_idle < KubeletConfig::NeverIdle;
        shown["streamingConnectionIdleTimeout"] = std::to_string(ends ? config.streaming_idle / std::chrono::seconds(1) : 0) + "s";
        shown["protectKernelDefaults"] = config.protect_kernel_defaults;
        shown["podPidsLimit"] = config.pod_pids_limit;
        shown["seccompDefault"] = config.seccomp_default;
        if (!kubelet.node().windows) shown["userNamespaces"] = Value::object({{"idsPerPod", config.ids_per_pod}});
        shown["eventRecordQPS"] = config.event_qps;
        shown["eventBurst"] = config.event_burst;
    }

    /// What allocatable is less than capacity by.
    void add_kept_back(Value& shown) const {
        const NodeIdentity& node = kubelet.config().node;
        const auto amounts = [](const ResourceList& list) {
            Value tree = Value::object();
            for (const auto& [name, amount] : list) tree[name] = amount.to_string();
            return tree;
        };
        shown["kubeReserved"] = amounts(node.kube_reserved);
        shown["systemReserved"] = amounts(node.system_reserved);
        Value& hard = shown["evictionHard"] = Value::object();
        if (node.eviction_memory > 0)
            hard["memory.available"] = Quantity::from_value(node.eviction_memory, Quantity::Format::BinarySi).to_string();
        if (node.eviction_storage > 0) hard["nodefs.available"] = fmt::format("{:g}%", node.eviction_storage * 100);
    }

    AsioLoop& loop;
    Kubelet& kubelet;
    AccessControl access;
    Stats stats;
    Logger log;
    NodeLogPolicy node_log_policy;
};

KubeletServer::KubeletServer(AsioLoop& loop, Kubelet& kubelet, AccessPolicy policy, Logger log, NodeLogPolicy node_logs)
    : impl_(std::make_unique<Impl>(loop, kubelet, std::move(policy), std::move(log), std::move(node_logs))) {}
KubeletServer::~KubeletServer() = default;

Task<> KubeletServer::handle(net::HttpRequest request, net::HttpResponder& responder) {
    const std::string what = request.method + " " + request.path;
    auto handled = co_await impl_->route(std::move(request), responder);
    if (handled || is_cancelled(handled)) co_return handled;
    impl_->log.debug("request failed", {{"request", what}, {"error", handled.error().message}});
    if (responder.started()) co_return handled;
    co_return co_await respond(responder, http_code(handled.error().reason), Text, handled.error().message + "\n");
}

Task<> HealthHandler::handle(net::HttpRequest request, net::HttpResponder& responder) {
    if (request.path != "/healthz") co_return co_await respond(responder, 404, Text, "404 page not found\n");
    const std::string problem = kubelet_.pleg().problem();
    if (problem.empty()) co_return co_await respond(responder, 200, Text, "ok");
    co_return co_await respond(responder, 500, Text, problem + "\n");
}

}  // namespace porthole::kubelet
