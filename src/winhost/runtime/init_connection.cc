#include "winhost/runtime/init_connection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "net/socket.h"
#include "winhost/bundle/held_tree.h"

namespace porthole::winhost {

std::uint32_t Frame::number() const {
    std::uint32_t value = 0;
    if (payload.size() == sizeof value) std::memcpy(&value, payload.data(), sizeof value);
    return value;
}

Task<std::unique_ptr<InitConnection>> InitConnection::open(AsioLoop& loop, std::string socket) {
    // A container can put a link to some other socket of this machine in the place of its own.
    const auto held = hold_socket(socket);
    if (!held) co_return Error(Reason::Unavailable, held.error().message);
    CO_TRY(auto stream, co_await net::connect_socket(loop, net::Endpoint{.unix_path = held->path()}));
    co_return std::unique_ptr<InitConnection>(new InitConnection(std::move(stream)));
}

Task<> InitConnection::send(FrameType type, std::string payload) {
    const auto size = static_cast<std::uint32_t>(payload.size());
    std::string bytes(1, static_cast<char>(type));
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes += payload;
    CO_TRY(const Semaphore::Permit permit, co_await sending_.acquire());
    co_return co_await stream_->write(bytes);
}

Task<> InitConnection::fill(std::size_t size) {
    std::array<char, 16384> chunk;
    while (buffer_.size() < size) {
        CO_TRY(const std::size_t count, co_await stream_->read(chunk));
        if (count == 0) co_return Error(Reason::Unavailable, "the container's init has ended");
        buffer_.append(chunk.data(), count);
    }
    co_return {};
}

Task<Frame> InitConnection::next() {
    constexpr std::size_t HeadSize = 5;
    CO_TRY_VOID(co_await fill(HeadSize));
    std::uint32_t size = 0;
    std::memcpy(&size, buffer_.data() + 1, sizeof size);
    if (size > 2 * LargestFrame) co_return Error(Reason::Unavailable, "the container's init sent an invalid message");
    CO_TRY_VOID(co_await fill(HeadSize + size));
    Frame frame{static_cast<FrameType>(buffer_[0]), buffer_.substr(HeadSize, size)};
    buffer_.erase(0, HeadSize + size);
    co_return frame;
}

std::string init_request(std::initializer_list<std::string_view> words) {
    std::string request;
    for (const std::string_view word : words) request.append(word).push_back('\0');
    return request;
}

Task<> ask_init(AsioLoop& loop, std::string socket, std::string request) {
    CO_TRY(const auto connection, co_await InitConnection::open(loop, std::move(socket)));
    CO_TRY_VOID(co_await connection->send(FrameType::Request, std::move(request)));
    CO_TRY(const Frame answer, co_await with_timeout(connection->next(), std::chrono::seconds(10), "the container's init"));
    if (answer.type == FrameType::Failed) co_return error_of_failure(answer.payload);
    co_return {};
}

Error error_of_failure(const std::string& payload) {
    struct Known {
        unsigned long code;
        const char* text;
    };
    static constexpr Known Texts[] = {{2, "The system cannot find the file specified."},
                                      {3, "The system cannot find the path specified."},
                                      {5, "Access is denied."},
                                      {193, "%1 is not a valid Win32 application."},
                                      {267, "The directory name is invalid."},
                                      {1455, "The paging file is too small for this operation to complete."}};
    const unsigned long code = std::strtoul(payload.c_str(), nullptr, 10);
    std::string text = payload.substr(std::min(payload.find(' '), payload.size() - 1) + 1);
    for (const Known& known : Texts)
        if (known.code == code) text = known.text;
    char suffix[32];
    std::snprintf(suffix, sizeof suffix, " (0x%lx)", code);
    return Error(code == 2 || code == 3 ? Reason::NotFound : Reason::Unknown, text + (code ? suffix : ""));
}

namespace {

/// Takes a decimal number and one space, or the text's end, from the front.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
    Number number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto length = static_cast<std::size_t>(end - text.data());
    if (code != std::errc() || (length < text.size() && text[length] != ' ')) return std::nullopt;
    text.remove_prefix(std::min(length + 1, text.size()));
    return number;
}

}  // namespace

std::optional<ProgramEnd> parse_program_end(std::string_view text) {
    constexpr std::string_view Failed = "failed ";
    constexpr std::int32_t StartFailed = 128;
    const bool failed = text.starts_with(Failed);
    if (failed) text.remove_prefix(Failed.size());
    const auto code = failed ? std::optional<std::uint32_t>(StartFailed) : take_number<std::uint32_t>(text);
    const auto time = code ? take_number<std::int64_t>(text) : std::nullopt;
    if (!time || *time < 0 || (!failed && !text.empty())) return std::nullopt;
    ProgramEnd end{.code = static_cast<std::int32_t>(*code), .time = *time, .failure = std::string(text.substr(0, text.find('\n')))};
    if (failed && end.failure.empty()) end.failure = "0 the program could not be started";
    return end;
}

}  // namespace porthole::winhost
