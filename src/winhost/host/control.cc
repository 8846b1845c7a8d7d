#include "winhost/host/control.h"

#include <array>

#include "base/result.h"
#include "runtime/files/file_system.h"
#include "schema/json/json.h"

namespace porthole::winhost {
namespace {

using namespace std::chrono_literals;
using schema::Value;

constexpr std::size_t LongestLine = 1 << 20, MostConnections = 64;

/// Up to the line's end, or the peer's.
Task<std::string> read_line(net::ByteStream& stream) {
    std::string line;
    std::array<char, 4096> buffer;
    while (line.find('\n') == line.npos) {
        CO_TRY(const std::size_t count, co_await stream.read(buffer));
        if (count == 0) break;
        line.append(buffer.data(), count);
        if (line.size() > LongestLine) co_return Error(Reason::RequestEntityTooLarge, "the request is too long");
    }
    co_return line.substr(0, line.find('\n'));
}

}  // namespace

std::string control_socket(const std::string& data) { return join_path(data, "control.sock"); }

ControlServer::ControlServer(AsioLoop& loop)
    : loop_(loop),
      acceptor_(
          loop, MostConnections, [this](net::Accepted accepted) { return serve(std::move(accepted)); }, Logger(make_null_sink(), "")) {}

Result<void> ControlServer::listen(const std::string& path) {
    TRY(auto listener, net::Listener::local(loop_, path));
    acceptor_.add(std::move(listener));
    return {};
}

Task<Value> ControlServer::answer(std::string line) {
    CO_TRY(Value request, schema::parse_json(line));
    const auto found = calls_.find(std::string(request.string_at({"call"})));
    if (found == calls_.end()) co_return Error(Reason::BadRequest, "unknown call");
    co_return co_await found->second(std::move(request));
}

Task<> ControlServer::serve(net::Accepted accepted) {
    const std::unique_ptr<net::ByteStream> stream = std::move(accepted.stream);
    CO_TRY(std::string line, co_await with_timeout(read_line(*stream), 10s, "the request"));
    auto answered = co_await answer(std::move(line));
    if (is_cancelled(answered)) co_return std::move(answered).error();
    const Value document = answered ? *std::move(answered)
                                    : Value::object({{"error", answered.error().message}, {"code", http_code(answered.error().reason)}});
    CO_TRY_VOID(co_await stream->write(schema::to_json(document) + "\n"));
    co_return co_await stream->end_writing();
}

Task<Value> ask_host(AsioLoop& loop, std::string data, Value request) {
    auto stream = co_await net::connect_socket(loop, net::Endpoint{.unix_path = control_socket(data)});
    if (!stream) co_return Error(Reason::Unavailable, "no emulated host runs in " + data);
    CO_TRY_VOID(co_await (*stream)->write(schema::to_json(request) + "\n"));
    CO_TRY(const std::string line, co_await read_line(**stream));
    CO_TRY(Value answer, schema::parse_json(line));
    if (const Value* error = answer.find("error"))
        co_return Error(reason_of_http_code(static_cast<int>(schema::at(answer, "code").int_or(500))), std::string(error->string_or("")));
    co_return answer;
}

}  // namespace porthole::winhost
