#include "kubelet/probes/probe_manager.h"

#include <algorithm>

#include "base/result.h"
#include "base/strings.h"
#include "base/time/time.h"

namespace porthole::kubelet {
namespace {

constexpr int TriesOnError = 3;
constexpr Duration StartPhase = std::chrono::seconds(10);

const schema::Box<core::Probe>& probe_of(const core::Container& container, ProbeType type) {
    switch (type) {
        case ProbeType::Startup:
            return container.startup_probe;
        case ProbeType::Liveness:
            return container.liveness_probe;
        default:
            return container.readiness_probe;
    }
}

ProbeVerdict initial_verdict(ProbeType type) {
    switch (type) {
        case ProbeType::Startup:
            return ProbeVerdict::Unknown;
        case ProbeType::Liveness:
            return ProbeVerdict::Success;
        default:
            return ProbeVerdict::Failure;
    }
}

std::int64_t at_least(std::int32_t value, std::int64_t fallback) { return value > 0 ? value : fallback; }

}  // namespace

const char* to_string(ProbeType type) {
    switch (type) {
        case ProbeType::Startup:
            return "Startup";
        case ProbeType::Liveness:
            return "Liveness";
        default:
            return "Readiness";
    }
}

std::string HttpTarget::url() const {
    const bool ipv6 = host.find(':') != std::string::npos;
    return std::string(https ? "https" : "http") + "://" + (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port) + path;
}

Result<std::uint16_t> resolve_port(const IntOrString& port, const core::Container& container) {
    if (port.is_int()) {
        if (port.as_int() > 0 && port.as_int() < 65536) return static_cast<std::uint16_t>(port.as_int());
        return Error(Reason::BadRequest, "invalid port number: " + port.to_string());
    }
    for (const core::ContainerPort& declared : container.ports)
        if (declared.name == port.as_string()) return static_cast<std::uint16_t>(declared.container_port);
    if (!port.as_string().empty() && std::all_of(port.as_string().begin(), port.as_string().end(), ::isdigit))
        return resolve_port(IntOrString(std::atoi(port.as_string().c_str())), container);
    return Error(Reason::BadRequest, "couldn't find port: " + port.as_string() + " in container " + container.name);
}

Result<HttpTarget> http_target(const core::HTTPGetAction& action, const core::Container& container, const std::string& pod_address) {
    HttpTarget target;
    target.https = action.scheme == core::URIScheme::Https;
    target.host = action.host.empty() ? pod_address : action.host;
    TRY(target.port, resolve_port(action.port, container));
    target.path = action.path.starts_with('/') ? action.path : "/" + action.path;
    for (const core::HTTPHeader& header : action.http_headers) target.headers.emplace_back(header.name, header.value);
    return target;
}

std::string kept_output(const cri::ExecSyncResponse& ended) {
    constexpr std::size_t OutputLimit = 10 << 10;
    return (ended.stdout.substr(0, OutputLimit) + ended.stderr.substr(0, OutputLimit)).substr(0, OutputLimit);
}

struct ProbeManager::Worker {
    std::shared_ptr<const core::Pod> pod;
    ContainerSpec spec;
    ProbeType type;
    core::Probe probe;
    // What runs now.
    std::string container_id;
    bool running = false;
    std::int64_t started_at = 0;  // nanoseconds since 1970
    std::string pod_address;
    // What was found out about it.
    std::string known_id;
    ProbeVerdict last = ProbeVerdict::Unknown;
    int run = 0;  ///< how often in a row `last` came
    bool on_hold = false;
    bool stopped = false;
    Event wake;
};

ProbeManager::ProbeManager(Services services, std::function<void(const std::string& uid)> changed)
    : services_(services), changed_(std::move(changed)), began_(services.loop.now()), scope_(services.loop) {}

ProbeVerdicts ProbeManager::verdicts() {
    const auto of = [this](ProbeType type) {
        return [this, type](const std::string& id) {
            const auto found = results_.find({id, type});
            return found == results_.end() ? ProbeVerdict::Unknown : found->second;
        };
    };
    return {of(ProbeType::Startup), of(ProbeType::Liveness), of(ProbeType::Readiness)};
}

void ProbeManager::observe(std::shared_ptr<const core::Pod> pod, const PodRuntimeState& state, const std::string& address) {
    for (ContainerSpec& spec : all_containers(*pod)) {
        if (spec.kind == ContainerKind::Ephemeral || (spec.kind == ContainerKind::Init && !is_sidecar(spec.container))) continue;
        const cri::ContainerStatus* status = state.find_newest(spec.container.name);
        for (const ProbeType type : {ProbeType::Startup, ProbeType::Liveness, ProbeType::Readiness}) {
            const schema::Box<core::Probe>& probe = probe_of(spec.container, type);
            if (!probe) continue;
            auto& worker = workers_[Key(pod->metadata.uid, spec.container.name, type)];
            const bool made = !worker;
            if (made) worker = std::make_shared<Worker>();
            const bool begins = status && is_running(*status) && (!worker->running || worker->container_id != status->id);
            worker->pod = pod;
            worker->spec = spec;
            worker->type = type;
            worker->probe = *probe;
            worker->pod_address = address;
            worker->running = status && is_running(*status);
            worker->started_at = status ? status->started_at : 0;
            worker->container_id = status ? status->id : "";
            adopt_container(*worker);
            if (made) scope_.spawn(run(worker));
            if (begins) worker->wake.set();
        }
    }
}

void ProbeManager::adopt_container(Worker& worker) {
    if (worker.container_id.empty() || worker.container_id == worker.known_id) return;
    if (!worker.known_id.empty()) results_.erase({worker.known_id, worker.type});
    worker.known_id = worker.container_id;
    worker.last = ProbeVerdict::Unknown;
    worker.run = 0;
    worker.on_hold = false;
    results_[{worker.known_id, worker.type}] = initial_verdict(worker.type);
}

void ProbeManager::stop(const Key& key) {
    const auto found = workers_.find(key);
    if (found == workers_.end()) return;
    found->second->stopped = true;
    found->second->wake.set();
    results_.erase({found->second->known_id, found->second->type});
    workers_.erase(found);
}

void ProbeManager::stop_liveness_and_startup(const std::string& uid) {
    std::vector<Key> ending;
    for (const auto& [key, worker] : workers_)
        if (std::get<0>(key) == uid && std::get<2>(key) != ProbeType::Readiness) ending.push_back(key);
    for (const Key& key : ending) {
        const std::shared_ptr<Worker> worker = workers_[key];
        stop(key);
        results_[{worker->known_id, worker->type}] = ProbeVerdict::Success;
    }
}

void ProbeManager::remove_pod(const std::string& uid) {
    std::vector<Key> ending;
    for (const auto& [key, worker] : workers_)
        if (std::get<0>(key) == uid) ending.push_back(key);
    for (const Key& key : ending) stop(key);
}

Task<> ProbeManager::run(std::shared_ptr<Worker> worker) {
    const Duration period = std::chrono::seconds(at_least(worker->probe.period_seconds, 10));
    if (services_.loop.now() - began_ < StartPhase && worker->running) {
        const auto wait = Duration(static_cast<Duration::rep>(services_.random.fraction() * static_cast<double>(period.count())));
        CO_TRY_VOID(co_await services_.loop.sleep(wait));
    }
    while (!worker->stopped) {
        worker->wake.reset();
        CO_TRY_VOID(co_await probe_once(worker));
        const auto woken = co_await with_timeout(worker->wake.wait(), period, "probe period");
        if (is_cancelled(woken)) co_return cancelled_error();
    }
    co_return {};
}

Task<> ProbeManager::probe_once(std::shared_ptr<Worker> worker) {
    if (worker->container_id.empty() || worker->on_hold) co_return {};
    if (!worker->running) {
        if (worker->type == ProbeType::Readiness) set_result(*worker, ProbeVerdict::Failure);
        co_return {};
    }
    const std::int64_t now = services_.loop.wall_now().time_since_epoch().count();
    const Duration age(now - worker->started_at);
    if (age < std::chrono::seconds(worker->probe.initial_delay_seconds)) {
        // Come back exactly when the delay is over, not a period later.
        services_.loop.call_after(std::chrono::seconds(worker->probe.initial_delay_seconds) - age, [weak = std::weak_ptr<Worker>(worker)] {
            if (const auto alive = weak.lock()) alive->wake.set();
        });
        co_return {};
    }
    const auto startup = results_.find({worker->container_id, ProbeType::Startup});
    const bool started = !worker->spec.container.startup_probe || (startup != results_.end() && startup->second == ProbeVerdict::Success);
    if (started == (worker->type == ProbeType::Startup)) co_return {};

    const std::string id = worker->container_id;
    auto outcome = co_await try_probe(worker);
    if (is_cancelled(outcome)) co_return std::move(outcome).error();
    if (worker->stopped || worker->container_id != id || !outcome) co_return {};
    const ProbeVerdict verdict = outcome->success ? ProbeVerdict::Success : ProbeVerdict::Failure;
    worker->run = verdict == worker->last ? worker->run + 1 : 1;
    worker->last = verdict;
    const std::int64_t threshold =
        verdict == ProbeVerdict::Failure ? at_least(worker->probe.failure_threshold, 3) : at_least(worker->probe.success_threshold, 1);
    if (worker->run < threshold) co_return {};
    if (verdict == ProbeVerdict::Failure && worker->type != ProbeType::Readiness) {
        worker->on_hold = true;
        worker->run = 0;
    }
    set_result(*worker, verdict);
    co_return {};
}

void ProbeManager::set_result(Worker& worker, ProbeVerdict verdict) {
    ProbeVerdict& held = results_[{worker.container_id, worker.type}];
    if (held == verdict) return;
    held = verdict;
    const std::string& uid = worker.pod->metadata.uid;
    // What waited for the container to have started need not wait for its period.
    if (worker.type == ProbeType::Startup && verdict == ProbeVerdict::Success)
        for (const ProbeType type : {ProbeType::Liveness, ProbeType::Readiness})
            if (const auto other = workers_.find(Key(uid, worker.spec.container.name, type)); other != workers_.end())
                other->second->wake.set();
    changed_(uid);
}

/// An error (the probe could not be made at all) is tried again at once; the third counts as unknown.
Task<ProbeOutcome> ProbeManager::try_probe(std::shared_ptr<Worker> worker) {
    const core::ObjectReference reference = reference_to(*worker->pod, &worker->spec);
    const std::string name = to_string(worker->type);
    Error last;
    for (int i = 0; i < TriesOnError; ++i) {
        auto outcome = co_await call(worker);
        if (outcome) {
            if (!outcome->success) {
                services_.events.warning(reference, "Unhealthy", name + " probe failed: " + outcome->output);
            } else if (outcome->warning) {
                services_.events.warning(reference, "ProbeWarning", name + " probe warning: " + outcome->output);
            }
            co_return std::move(outcome);
        }
        if (is_cancelled(outcome)) co_return std::move(outcome).error();
        last = std::move(outcome).error();
    }
    services_.events.warning(reference, "Unhealthy", name + " probe errored and resulted in unknown state: " + last.message);
    co_return last;
}

Task<ProbeOutcome> ProbeManager::call(std::shared_ptr<Worker> worker) {
    const core::Probe& probe = worker->probe;
    const Duration timeout = std::chrono::seconds(at_least(probe.timeout_seconds, 1));
    if (probe.exec) co_return co_await call_exec(worker);
    if (probe.http_get) {
        CO_TRY(HttpTarget target, http_target(*probe.http_get, worker->spec.container, worker->pod_address));
        co_return co_await services_.network.http(std::move(target), timeout);
    }
    if (probe.tcp_socket) {
        CO_TRY(const std::uint16_t port, resolve_port(probe.tcp_socket->port, worker->spec.container));
        const std::string host = probe.tcp_socket->host.empty() ? worker->pod_address : probe.tcp_socket->host;
        co_return co_await services_.network.tcp(host, port, timeout);
    }
    if (probe.grpc) {
        co_return co_await services_.network.grpc(worker->pod_address, static_cast<std::uint16_t>(probe.grpc->port),
                                                  probe.grpc->service.value_or(""), timeout);
    }
    co_return Error(Reason::BadRequest, "missing probe handler for " + pod_full_text(*worker->pod) + ":" + worker->spec.container.name);
}

Task<ProbeOutcome> ProbeManager::call_exec(std::shared_ptr<Worker> worker) {
    cri::ExecSyncRequest request;
    request.container_id = worker->container_id;
    request.cmd = worker->probe.exec->command;
    request.timeout = at_least(worker->probe.timeout_seconds, 1);
    const std::int64_t seconds = request.timeout;
    auto ended = co_await services_.runtime.exec_sync(std::move(request));
    if (!ended && ended.error().reason == Reason::Timeout) {
        const std::string command = join(worker->probe.exec->command, " ");
        co_return ProbeOutcome{.output = "command timed out: \"" + command + "\" timed out after " + std::to_string(seconds) + "s"};
    }
    if (!ended) co_return std::move(ended).error();
    co_return ProbeOutcome{.success = ended->exit_code == 0, .output = kept_output(*ended)};
}

}  // namespace porthole::kubelet
