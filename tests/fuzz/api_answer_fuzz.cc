// What an API server, one of somebody else's too, may answer to our clients: lists, watches, discovery, refusals.
#include <cstdint>
#include <cstdlib>

#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "client/discovery.h"
#include "client/informers/informer.h"
#include "client/older_versions.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

using namespace porthole;
using namespace porthole::client;

namespace {

net::Bytes bytes_of(std::string_view text) { return std::make_shared<const std::string>(text); }

/// Each line of the input is one event; then the watch ends.
class Events final : public ApiStream {
public:
    explicit Events(std::string_view text) : text_(text) {}
    Task<std::optional<net::Bytes>> next() override {
        if (text_.empty()) co_return std::nullopt;
        const std::string_view line = text_.substr(0, text_.find('\n'));
        text_.remove_prefix(std::min(text_.size(), line.size() + 1));
        co_return bytes_of(line);
    }

private:
    std::string_view text_;
};

/// Answers every call with the first line of the input, whose first byte decides the code; a watch brings the other lines.
class Server final : public Transport {
public:
    explicit Server(std::string_view text)
        : code_(text.empty() || text[0] % 4 ? 200
                : text[0] % 8               ? 404
                                            : 410),
          first_(text.substr(0, text.find('\n')).substr(text.empty() || text[0] == '\n' ? 0 : 1)),
          rest_(text.substr(std::min(text.size(), first_.size() + 2))) {}
    Task<ApiResponse> call(ApiRequest) override { co_return ApiResponse{code_, bytes_of(first_)}; }
    Task<std::unique_ptr<ApiStream>> watch(ApiRequest) override { co_return std::make_unique<Events>(rest_); }

private:
    int code_;
    std::string_view first_, rest_;
};

template <class T>
void follow(sim::SimLoop& loop, Client& client) {
    SeededRandom random(7);
    Informer<T> informer({loop, client, random, Logger(make_null_sink(), "informer")});
    Scope scope(loop);
    scope.spawn(informer.run());
    loop.advance(std::chrono::seconds(5));
    for (const auto& object : informer.list())
        if (informer.find(key_of(*object)) != object) std::abort();
    static_cast<void>(sim::run(loop, scope.close()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    sim::SimLoop loop;
    OlderVersions transport(std::make_unique<Server>(text));
    Client client(transport);
    static_cast<void>(sim::run(loop, discover(client)));
    static_cast<void>(sim::run(loop, client.get<api::core::v1::Pod>({"a", "b"})));
    static_cast<void>(error_of_status(500, text));
    follow<api::core::v1::Pod>(loop, client);
    follow<api::discovery::v1::EndpointSlice>(loop, client);
    loop.advance(std::chrono::minutes(1));
    return 0;
}
