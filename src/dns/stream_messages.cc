#include "dns/stream_messages.h"

#include <span>

#include "base/result.h"
#include "dns/message.h"

namespace porthole::dns {
namespace {

constexpr Duration IdleLimit = std::chrono::seconds(10);

Task<> read_exactly(net::ByteStream& stream, std::string& into) {
    std::size_t have = 0;
    while (have < into.size()) {
        CO_TRY(const std::size_t count, co_await stream.read(std::span(into).subspan(have)));
        if (count == 0) co_return Error(Reason::Unavailable, "connection ended");
        have += count;
    }
    co_return {};
}

}  // namespace

Task<std::string> read_message(net::ByteStream& stream) {
    std::string length(2, '\0');
    CO_TRY_VOID(co_await read_exactly(stream, length));
    std::string message(message_id(length), '\0');
    CO_TRY_VOID(co_await read_exactly(stream, message));
    co_return std::move(message);
}

Task<> write_message(net::ByteStream& stream, std::string message) {
    const auto size = static_cast<std::uint16_t>(message.size());
    message.insert(0, {static_cast<char>(size >> 8), static_cast<char>(size)});
    CO_TRY_VOID(co_await stream.write(message));
    co_return {};
}

Task<> answer_stream(net::ByteStream& stream, std::function<Task<std::string>(std::string query)> answer) {
    for (;;) {
        CO_TRY(std::string query, co_await with_timeout(read_message(stream), IdleLimit, "reading a query"));
        CO_TRY(std::string reply, co_await answer(std::move(query)));
        if (reply.empty()) co_return {};
        CO_TRY_VOID(co_await with_timeout(write_message(stream, std::move(reply)), IdleLimit, "writing a reply"));
    }
}

}  // namespace porthole::dns
