#include "apiserver/handlers/event_messages.h"

namespace porthole::apiserver {
namespace {

constexpr std::string_view TokenProtocol = "base64url.bearer.authorization.k8s.io.";
constexpr std::size_t PrefixSize = 4;  ///< of a length before each event that is not text

/// The subprotocol has no meaning for a watch: what the client offers, but for its token, is what it gets.
std::vector<std::string> protocols_of(const net::HttpRequest& request) {
    auto offered = net::header_words(request.headers, "sec-websocket-protocol");
    std::erase_if(offered, [](const std::string& word) { return word.starts_with(TokenProtocol); });
    return offered;
}

/// Takes the first event from `rest`: a line, or what is behind its length. None: its end is not there yet.
std::optional<std::string> take_event(std::string& rest, bool is_text) {
    std::size_t begin = 0, size = 0;
    if (is_text) {
        size = rest.find('\n') + 1;  // 0 without one
    } else if (rest.size() >= PrefixSize) {
        begin = PrefixSize;
        for (const char byte : rest.substr(0, PrefixSize)) size = (size << 8) | static_cast<unsigned char>(byte);
        if (size > rest.size() - PrefixSize) size = 0;
    }
    if (size == 0) return std::nullopt;
    std::string event = rest.substr(begin, size);
    rest.erase(0, begin + size);
    return event;
}

}  // namespace

Task<> EventMessages::carry(Task<> watch) {
    net::ChildTask sending(loop_), receiving(loop_);
    Event ended;
    sending.start(std::move(watch), [&] { ended.set(); });
    receiving.start(receive_until_closed(), [&] { ended.set(); });
    const auto waited = co_await ended.wait();
    sending.cancel();
    receiving.cancel();
    (void)co_await sending.join();
    (void)co_await receiving.join();
    if (!waited) co_return waited;
    if (!socket_) co_return sending.result();
    socket_->close(1000, "");
    co_return {};
}

/// What the client sends means nothing, but its end does.
Task<> EventMessages::receive_until_closed() {
    CO_TRY_VOID(co_await opened_.wait());
    for (;;) {
        CO_TRY(const auto message, co_await socket_->receive());
        if (!message) co_return {};
    }
}

Task<> EventMessages::respond(int code, net::Headers headers, std::vector<net::Bytes> body) {
    return context_.responder.respond(code, std::move(headers), std::move(body));
}

Task<> EventMessages::start(int, net::Headers headers) {
    is_text_ = !headers.get("content-type").contains("protobuf");
    CO_TRY(socket_, co_await net::accept_websocket(loop_, context_.request, context_.responder, protocols_of(context_.request)));
    context_.code = 101;
    opened_.set();
    co_return {};
}

Task<> EventMessages::write(net::Bytes chunk) {
    unsent_ += *chunk;
    while (auto event = take_event(unsent_, is_text_)) CO_TRY_VOID(co_await socket_->send({std::move(*event), !is_text_}));
    co_return {};
}

Task<> EventMessages::finish(net::Headers) { co_return {}; }

Task<std::unique_ptr<net::ByteStream>> EventMessages::upgrade(net::Headers headers) {
    return context_.responder.upgrade(std::move(headers));
}

}  // namespace porthole::apiserver
