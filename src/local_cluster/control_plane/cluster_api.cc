#include "local_cluster/control_plane/cluster_api.h"

#include <algorithm>

#include "base/result.h"
#include "local_cluster/processes/failing_start.h"
#include "local_cluster/processes/node_progress.h"
#include "net/http/http_client.h"
#include "runtime/files/durable_file.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::local_cluster {

using namespace std::chrono_literals;
namespace {

constexpr Duration AnswerLimit = 2s, NodeLimit = 10min;

/// Between two questions of which the last took `took`. Each is a TLS handshake: on a slow machine they must not be what keeps it busy.
Duration pause_after(Duration took) { return std::max<Duration>(50ms, 4 * took); }

}  // namespace

Result<void> ClusterApi::use_keys() {
    TRY(node_join::Pki pki, node_join::Pki::load(data_.pki()));
    TRY(node_join::KeyPair identity, pki.issue_client("system:porthole-supervisor", {}, loop_.wall_now()));
    TRY(tls_,
        net::TlsClientContext::create({.ca_pem = pki.ca_pem, .certificate_pem = identity.certificate_pem, .key_pem = identity.key_pem}));
    pki_ = std::move(pki);
    identity_ = std::move(identity);
    return {};
}

Result<void> ClusterApi::use_current_keys() {
    const auto authority = read_file(data_.pki() / "ca.crt");
    if (tls_ && (!authority || *authority == pki_.ca_pem)) return {};
    auto read = use_keys();
    if (tls_) return {};  // while the files are being replaced, those before do
    return read;
}

Task<std::string> ClusterApi::ask(ApiServerProcess server, std::string method, std::string path) {
    CO_TRY_VOID(use_current_keys());
    net::HttpClient client(loop_, {.host = server.address, .port = cluster_.options.port, .unix_path = {}}, tls_);
    net::HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    auto response = co_await client.send(std::move(request));
    CO_TRY_VOID(co_await client.close());
    if (!response) co_return std::move(response).error();
    if (response->code != 200)
        co_return Error(response->code == 404 ? Reason::NotFound : Reason::Unavailable,
                        "the server answers " + std::to_string(response->code));
    co_return std::move(response->body);
}

Task<std::string> ClusterApi::call(std::string method, std::string path) {
    Error last(Reason::Unavailable, "there is no API server");
    for (const ApiServerProcess& server : api_servers(data_, cluster_)) {
        auto answer = co_await with_timeout(ask(server, method, path), AnswerLimit, "asking a server");
        if (answer || is_cancelled(answer) || answer.error().reason == Reason::NotFound) co_return answer;
        last = answer.error();
    }
    co_return last;
}

Task<ApiServerProcess> ClusterApi::find_server() {
    Error last(Reason::Unavailable, "there is no API server");
    for (const ApiServerProcess& server : api_servers(data_, cluster_)) {
        const auto answer = co_await with_timeout(ask(server, "GET", "/readyz"), AnswerLimit, "asking a server whether it is ready");
        if (answer) co_return server;
        if (is_cancelled(answer)) co_return answer.error();
        last = answer.error();
    }
    co_return last;
}

Task<> ClusterApi::wait_for_any(std::vector<ApiServerProcess> servers, Duration limit) {
    const MonotonicTime deadline = loop_.now() + limit;
    std::vector<FailingStart> starts;
    const auto log_of = [this](const ApiServerProcess& server) { return data_.logs() / (server.name + ".log"); };
    for (const ApiServerProcess& server : servers) starts.emplace_back(log_of(server), loop_.now());
    for (;;) {
        Error last(Reason::Unavailable, "there is no API server");
        for (const ApiServerProcess& server : servers) {
            const auto answer = co_await with_timeout(ask(server, "GET", "/readyz"), AnswerLimit, "asking a server whether it is ready");
            if (answer) co_return {};
            if (is_cancelled(answer)) co_return answer.error();
            last = answer.error();
        }
        const MonotonicTime now = loop_.now();
        const auto hopeless = std::ranges::count_if(starts, [&](FailingStart& start) { return start.is_hopeless(now); });
        if (now > deadline || static_cast<std::size_t>(hopeless) == starts.size()) {
            const std::string& ended = starts.back().last_words();
            co_return Error(Reason::Timeout, (ended.empty() ? last.message : ended) + "; see " + log_of(servers.back()).string());
        }
        CO_TRY_VOID(co_await loop_.sleep(20ms));
    }
}

Task<> ClusterApi::wait_for(ApiServerProcess server, Duration limit) { return wait_for_any({std::move(server)}, limit); }

Task<> ClusterApi::wait_for_node(std::string name, SystemTime since, Duration still, std::filesystem::path log) {
    ProgressLimit limit(loop_.now(), still, NodeLimit);
    FailingStart start(log, loop_.now());
    NodeProgress progress{.waits_for = "it has not registered"};
    for (;;) {
        const MonotonicTime asked = loop_.now();
        const auto answer = co_await call("GET", "/api/v1/nodes/" + name);
        if (is_cancelled(answer)) co_return answer.error();
        if (answer) {
            CO_TRY(const schema::Value node, schema::parse_json(*answer));
            progress = progress_of(node, since);
        } else if (answer.error().reason != Reason::NotFound) {
            progress.waits_for = answer.error().message;
        }
        if (progress.ready) co_return {};
        const MonotonicTime answered = loop_.now();
        if (start.is_hopeless(answered) || limit.is_passed(answered, progress.state))
            co_return Error(Reason::Timeout,
                            "the node does not become Ready: " + (start.last_words().empty() ? progress.waits_for : start.last_words()) +
                                "; see " + log.string());
        CO_TRY_VOID(co_await loop_.sleep(pause_after(answered - asked)));
    }
}

Task<std::string> ClusterApi::pod_range(std::string name) {
    CO_TRY(const std::string answer, co_await call("GET", "/api/v1/nodes/" + name));
    CO_TRY(const auto node, schema::parse_json(answer));
    const std::string range(node.string_at({"spec", "podCIDR"}));
    if (range.empty()) co_return Error(Reason::NotFound, "node " + name + " has no range of pods");
    co_return range;
}

Task<> ClusterApi::remove_node(std::string name) {
    const auto removed = co_await with_timeout(call("DELETE", "/api/v1/nodes/" + name), 10s, "removing the node");
    if (!removed && !is_not_found(removed)) co_return Error(removed.error()).with_context("removing node " + name);
    co_return {};
}

}  // namespace porthole::local_cluster
