#include "hns/wire/client.h"

#include "base/result.h"
#include "hns/documents.h"
#include "hns/hresult.h"
#include "net/socket.h"

namespace porthole::hns::wire {
namespace {

/// Whatever happens between here and the service looks to callers as if it were away.
Error unreachable(Error error) {
    if (is_cancelled(error) || hresult_of(error) != Hresult::Ok) return error;
    return hresult_error(Hresult::RpcServerUnavailable, "The host network service cannot be reached: " + error.message);
}

Task<std::unique_ptr<net::ByteStream>> connect_to(AsioLoop& loop, net::Endpoint endpoint) {
    return net::connect_socket(loop, std::move(endpoint));
}

}  // namespace

Connect connect_tcp(AsioLoop& loop, std::string address, std::uint16_t port) {
    return [&loop, endpoint = net::Endpoint{std::move(address), port, ""}] { return connect_to(loop, endpoint); };
}

Task<std::unique_ptr<FrameStream>> WireHns::open() {
    CO_TRY(auto stream, co_await connect_());
    auto frames = std::make_unique<FrameStream>(std::move(stream));
    CO_TRY_VOID(co_await frames->write(write_token(token_)));
    co_return frames;
}

Task<std::string> WireHns::exchange(FrameStream& frames, std::string json) {
    CO_TRY_VOID(co_await frames.write(std::move(json)));
    CO_TRY(auto answer, co_await frames.read());
    if (!answer) co_return Error(Reason::Unavailable, "it ended the connection");
    co_return *std::move(answer);
}

Task<Response> WireHns::call(Request request) {
    CO_TRY(const auto permit, co_await turn_.acquire());
    // Taken out while in use: a call that fails or is cancelled half-way leaves no connection for the next one.
    std::unique_ptr<FrameStream> frames = std::move(frames_);
    if (!frames) {
        auto opened = co_await open();
        if (!opened) co_return unreachable(std::move(opened).error());
        frames = *std::move(opened);
    }
    auto answer = co_await exchange(*frames, write_request(request));
    if (!answer) co_return unreachable(std::move(answer).error());
    auto response = parse_response(*answer);
    if (!response) co_return unreachable(std::move(response).error());
    frames_ = std::move(frames);
    if (response->hresult != 0 || !response->error.empty()) co_return error_of_record(response->hresult, response->error);
    co_return *std::move(response);
}

Task<std::string> WireHns::enumerate(ObjectKind kind, std::string query) {
    CO_TRY(auto response, co_await call({.call = write_call_name({Verb::Enumerate, kind}), .document = std::move(query)}));
    co_return std::move(response.document);
}

Task<std::string> WireHns::create(ObjectKind kind, std::string parent, std::string settings) {
    CO_TRY(auto response,
           co_await call({.call = write_call_name({Verb::Create, kind}), .parent = std::move(parent), .document = std::move(settings)}));
    co_return std::move(response.id);
}

Task<std::string> WireHns::query(ObjectKind kind, std::string id, std::string query) {
    CO_TRY(auto response, co_await call({.call = write_call_name({Verb::Query, kind}), .id = std::move(id), .document = std::move(query)}));
    co_return std::move(response.document);
}

Task<> WireHns::modify(ObjectKind kind, std::string id, std::string settings) {
    CO_TRY_VOID(co_await call({.call = write_call_name({Verb::Modify, kind}), .id = std::move(id), .document = std::move(settings)}));
    co_return {};
}

Task<> WireHns::remove(ObjectKind kind, std::string id) {
    CO_TRY_VOID(co_await call({.call = write_call_name({Verb::Delete, kind}), .id = std::move(id)}));
    co_return {};
}

Task<std::string> WireHns::call_v1(std::string method, std::string path, std::string body) {
    CO_TRY(auto response,
           co_await call({.call = "HNSCall", .document = std::move(body), .method = std::move(method), .path = std::move(path)}));
    co_return std::move(response.document);
}

Task<std::string> WireHns::control(std::string request) {
    CO_TRY(auto response, co_await call({.call = "Control", .document = std::move(request)}));
    co_return std::move(response.document);
}

Task<> WireHns::subscribe(std::function<void(const Notification&)> listener) {
    auto opened = co_await open();
    if (!opened) co_return unreachable(std::move(opened).error());
    FrameStream& frames = **opened;
    if (auto sent = co_await frames.write(write_request({.call = "Subscribe"})); !sent) co_return unreachable(std::move(sent).error());
    while (true) {
        auto frame = co_await frames.read();
        if (is_cancelled(frame)) co_return std::move(frame).error();
        if (!frame || !*frame) break;
        auto notification = parse_notification(**frame);
        if (!notification) co_return unreachable(std::move(notification).error());
        listener(*notification);
        if (notification->type == NotificationType::ServiceDisconnect) co_return {};
    }
    listener({NotificationType::ServiceDisconnect, ""});
    co_return {};
}

}  // namespace porthole::hns::wire
