#include "client/older_versions.h"

#include <string_view>

namespace porthole::client {
namespace {

constexpr std::string_view Newer = "/apis/discovery.k8s.io/v1/", Older = "/apis/discovery.k8s.io/v1beta1/";
constexpr int NotFound = 404;

bool concerns(const ApiRequest& request) { return request.method == "GET" && request.path.starts_with(Newer); }

ApiRequest in_version(ApiRequest request, bool older) {
    if (older) request.path.replace(0, Newer.size(), Older);
    return request;
}

/// The only difference that matters: an endpoint's `topology` became `deprecatedTopology`. A string cannot hold these bytes, since a
/// quotation mark in it is escaped.
net::Bytes in_newer_words(const net::Bytes& document) {
    constexpr std::string_view Was = "\"topology\":", Is = "\"deprecatedTopology\":";
    if (!document || document->find(Was) == std::string::npos) return document;
    std::string text = *document;
    for (std::size_t at = 0; (at = text.find(Was, at)) != text.npos; at += Is.size()) text.replace(at, Was.size(), Is);
    return std::make_shared<const std::string>(std::move(text));
}

class OlderStream final : public ApiStream {
public:
    explicit OlderStream(std::unique_ptr<ApiStream> stream) : stream_(std::move(stream)) {}

    Task<std::optional<net::Bytes>> next() override {
        CO_TRY(const std::optional<net::Bytes> event, co_await stream_->next());
        if (!event) co_return std::nullopt;
        co_return in_newer_words(*event);
    }

private:
    std::unique_ptr<ApiStream> stream_;
};

}  // namespace

Task<ApiResponse> OlderVersions::call(ApiRequest request) {
    if (!concerns(request)) co_return co_await server_->call(std::move(request));
    CO_TRY(ApiResponse answer, co_await server_->call(in_version(request, older_)));
    if (answer.code == NotFound) {
        CO_TRY(ApiResponse other, co_await server_->call(in_version(request, !older_)));
        if (other.code == NotFound) co_return answer;
        older_ = !older_;
        answer = std::move(other);
    }
    if (older_) answer.body = in_newer_words(answer.body);
    co_return answer;
}

/// A watch follows a list, which has found the version.
Task<std::unique_ptr<ApiStream>> OlderVersions::watch(ApiRequest request) {
    if (!concerns(request) || !older_) co_return co_await server_->watch(std::move(request));
    CO_TRY(auto stream, co_await server_->watch(in_version(std::move(request), true)));
    co_return std::make_unique<OlderStream>(std::move(stream));
}

}  // namespace porthole::client
