#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/outgoing/outgoing_client.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::apiserver {

/// Servers that tests play, by the URL that a configuration names, and the files of configurations. `loop` outlives it.
class FakeServers final : public OutgoingClients {
public:
    using Answer = std::function<Result<net::HttpResponse>(const net::HttpRequest&)>;
    struct Server {
        Answer answer;
        /// A streamed answer, and one to an upgrade; empty: `answer` as a whole, and refused.
        std::function<Result<std::unique_ptr<net::HttpBody>>(const net::HttpRequest&)> stream;
        std::function<Result<net::Upgraded>(const net::HttpRequest&)> upgrade;
        Duration takes = Duration::zero();  ///< until the answer is there
        std::vector<net::HttpRequest> requests;
        OutgoingLimits limits;        ///< of the last request
        client::ClientConfig config;  ///< as it was opened
        int opened = 0;               ///< how often
    };

    explicit FakeServers(sim::SimLoop& loop) : loop_(loop), files_(loop) {}

    Server& at(const std::string& url) { return servers_[url]; }
    Result<std::unique_ptr<OutgoingClient>> open(const client::ClientConfig& config) override {
        TRY_VOID(client::parse_server_url(config.server));
        Server& server = servers_[config.server];
        server.config = config;
        ++server.opened;
        return std::make_unique<Client>(loop_, server);
    }
    sim::MemoryFileSystem& files() override { return files_; }
    Task<> close() override { co_return {}; }

    /// A kubeconfig of the server at `url`.
    void write_kubeconfig(const std::string& path, const std::string& url) {
        const Result<void> written =
            files_.write(path,
                         "{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: "
                         "c, user: u}}], clusters: [{name: c, cluster: {server: '" +
                             url + "'}}], users: [{name: u, user: {token: t}}]}",
                         0600);
        CHECK(written.has_value());
    }

    /// An answer in one piece.
    class Body final : public net::HttpBody {
    public:
        explicit Body(net::HttpResponse whole) : whole_(std::move(whole)) {}
        int code() const override { return whole_.code; }
        const net::Headers& headers() const override { return whole_.headers; }
        Task<std::optional<std::string>> next() override {
            if (std::exchange(read_, true) || whole_.body.empty()) co_return std::optional<std::string>();
            co_return std::optional(whole_.body);
        }

    private:
        net::HttpResponse whole_;
        bool read_ = false;
    };

private:
    class Client final : public OutgoingClient {
    public:
        Client(sim::SimLoop& loop, Server& server) : loop_(loop), server_(server) {}
        Task<net::HttpResponse> send(net::HttpRequest request, OutgoingLimits limits) override {
            server_.requests.push_back(request);
            server_.limits = limits;
            if (server_.takes > Duration::zero()) CO_TRY_VOID(co_await loop_.sleep(std::min(server_.takes, limits.time)));
            if (server_.takes > limits.time) co_return Error(Reason::Timeout, "answer of the server timed out");
            if (!server_.answer) co_return Error(Reason::Unavailable, "connection refused");
            CO_TRY(auto response, server_.answer(request));
            if (response.body.size() > limits.answer_bytes) co_return Error(Reason::RequestEntityTooLarge, "the answer is longer");
            co_return response;
        }

        Task<std::unique_ptr<net::HttpBody>> open(net::HttpRequest request) override {
            if (!server_.stream) {
                CO_TRY(auto whole, co_await send(std::move(request), {.time = std::chrono::hours(1)}));
                co_return std::unique_ptr<net::HttpBody>(std::make_unique<Body>(std::move(whole)));
            }
            server_.requests.push_back(request);
            co_return server_.stream(request);
        }
        Task<net::Upgraded> upgrade(net::HttpRequest request) override {
            server_.requests.push_back(request);
            if (!server_.upgrade) co_return Error(Reason::Unavailable, "connection refused");
            co_return server_.upgrade(request);
        }

    private:
        sim::SimLoop& loop_;
        Server& server_;
    };

    sim::SimLoop& loop_;
    sim::MemoryFileSystem files_;
    std::map<std::string, Server> servers_;
};

}  // namespace porthole::apiserver
