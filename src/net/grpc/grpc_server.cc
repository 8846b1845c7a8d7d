#include "net/grpc/grpc.h"

namespace porthole::net {
namespace {

class ResponderWriter final : public GrpcWriter {
public:
    explicit ResponderWriter(HttpResponder& responder) : responder_(responder) {}
    Task<> write(std::string message) override { return responder_.write(std::make_shared<const std::string>(grpc_frame(message))); }

private:
    HttpResponder& responder_;
};

/// "100m" and the like; nothing if absent or not understood.
std::optional<Duration> parse_timeout(std::string_view text) {
    if (text.size() < 2 || text.size() > 9) return std::nullopt;
    std::int64_t count = 0;
    for (const char c : text.substr(0, text.size() - 1)) {
        if (c < '0' || c > '9') return std::nullopt;
        count = count * 10 + (c - '0');
    }
    switch (text.back()) {
        case 'H':
            return std::chrono::hours(std::min<std::int64_t>(count, 100'000));
        case 'M':
            return std::chrono::minutes(count);
        case 'S':
            return std::chrono::seconds(count);
        case 'm':
            return std::chrono::milliseconds(count);
        case 'u':
            return std::chrono::microseconds(count);
        case 'n':
            return std::chrono::nanoseconds(count);
        default:
            return std::nullopt;
    }
}

Headers status_trailers(const Result<void>& result) {
    if (result) return {{"grpc-status", "0"}};
    const auto status = std::to_string(static_cast<int>(grpc_status_of(result.error())));
    return {{"grpc-status", status}, {"grpc-message", percent_encode(result.error().message)}};
}

Result<std::string> only_message(std::string body) {
    GrpcReassembler messages(body.size());
    messages.add(body);
    TRY(auto message, messages.take());
    if (!message || !messages.empty()) return Error(Reason::BadRequest, "gRPC: a request has exactly one message");
    return std::move(*message);
}

}  // namespace

void GrpcHandler::add(std::string method, Unary unary) { unary_.emplace(std::move(method), std::move(unary)); }

void GrpcHandler::add_streaming(std::string method, Streaming streaming) { streaming_.emplace(std::move(method), std::move(streaming)); }

const GrpcHandler::Unary* GrpcHandler::find(const std::string& method) const {
    const auto found = unary_.find(method);
    return found == unary_.end() ? nullptr : &found->second;
}

Task<> GrpcHandler::dispatch(std::string path, std::string message, HttpResponder& responder) {
    ResponderWriter writer(responder);
    if (const auto found = unary_.find(path); found != unary_.end()) {
        CO_TRY(auto answer, co_await found->second(std::move(message)));
        co_return co_await writer.write(std::move(answer));
    }
    if (const auto found = streaming_.find(path); found != streaming_.end()) {
        co_return co_await found->second(std::move(message), writer);
    }
    co_return error_of_grpc(GrpcStatus::Unimplemented, "unknown method " + path);
}

Task<> GrpcHandler::handle(HttpRequest request, HttpResponder& responder) {
    if (request.method != "POST" || !request.headers.get("content-type").starts_with("application/grpc")) {
        co_return Error(Reason::UnsupportedMediaType, "only gRPC is supported here");
    }
    CO_TRY(std::string body, co_await responder.read_body());
    auto message = only_message(std::move(body));
    CO_TRY_VOID(co_await responder.start(200, {{"content-type", "application/grpc"}}));
    Result<void> result;
    if (!message) {
        result = std::move(message).error();
    } else if (const auto timeout = parse_timeout(request.headers.get("grpc-timeout"))) {
        result = co_await with_timeout(dispatch(request.path, std::move(*message), responder), *timeout, "gRPC call");
    } else {
        result = co_await dispatch(request.path, std::move(*message), responder);
    }
    co_return co_await responder.finish(status_trailers(result));
}

}  // namespace porthole::net
