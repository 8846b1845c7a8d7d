#include "winhost/dll/host_connection_windows.h"

#include <cstring>
#include <mutex>
#include <utility>

#include "base/wide_windows.h"
#include "hns/hresult.h"
#include "hns/wire/host_file.h"

namespace porthole::winhost {
namespace {

constexpr const wchar_t* HostFilePath = L"C:\\ProgramData\\Porthole\\emulator.json";
constexpr DWORD AnswerLimitMilliseconds = 120'000;

Error unreachable(const std::string& why) {
    return hns::hresult_error(hns::Hresult::RpcServerUnavailable, "The host network service cannot be reached: " + why + ".");
}

Result<std::string> read_host_file() {
    const HANDLE file =
        CreateFileW(HostFilePath, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING, 0, nullptr);
    if (file == INVALID_HANDLE_VALUE) return unreachable(windows_error("opening emulator.json", GetLastError()).message);
    char buffer[4096];
    DWORD count = 0;
    const BOOL read = ReadFile(file, buffer, sizeof buffer, &count, nullptr);
    CloseHandle(file);
    if (!read) return unreachable("emulator.json cannot be read");
    return std::string(buffer, count);
}

void start_sockets() {
    static std::once_flag once;
    std::call_once(once, [] {
        WSADATA data;
        WSAStartup(MAKEWORD(2, 2), &data);
    });
}

}  // namespace

HostConnection::HostConnection(HostConnection&& other) noexcept
    : socket_(std::exchange(other.socket_, INVALID_SOCKET)), reader_(std::move(other.reader_)) {}

HostConnection& HostConnection::operator=(HostConnection&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(reader_, other.reader_);
    return *this;
}

HostConnection::~HostConnection() {
    if (socket_ != INVALID_SOCKET) closesocket(socket_);
}

Result<HostConnection> HostConnection::open() {
    TRY(const std::string json, read_host_file());
    const auto file = hns::wire::parse_host_file(json);
    const auto place = file ? hns::wire::parse_host_and_port(file->hns) : Result<hns::wire::HostAndPort>(Error(file.error()));
    if (!place) return unreachable("emulator.json: " + place.error().message);
    start_sockets();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(place->port);
    address.sin_addr.s_addr = inet_addr(place->host.c_str());
    HostConnection connection(socket(AF_INET, SOCK_STREAM, IPPROTO_TCP));
    if (connection.socket_ == INVALID_SOCKET || connect(connection.socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        return unreachable(windows_error("connecting to " + file->hns, static_cast<unsigned long>(WSAGetLastError())).message);
    }
    setsockopt(connection.socket_, SOL_SOCKET, SO_RCVTIMEO, reinterpret_cast<const char*>(&AnswerLimitMilliseconds),
               sizeof AnswerLimitMilliseconds);
    const BOOL no_delay = TRUE;
    setsockopt(connection.socket_, IPPROTO_TCP, TCP_NODELAY, reinterpret_cast<const char*>(&no_delay), sizeof no_delay);
    TRY_VOID(connection.send(hns::wire::write_token(file->token)));
    return connection;
}

Result<void> HostConnection::send(std::string_view json) {
    if (json.size() > hns::wire::FrameLimit) return hns::hresult_error(hns::Hresult::InvalidParameter, "The document is too large.");
    const std::string frame = hns::wire::encode_frame(json);
    for (std::size_t sent = 0; sent < frame.size();) {
        const int count = ::send(socket_, frame.data() + sent, static_cast<int>(frame.size() - sent), 0);
        if (count <= 0) return unreachable("the connection broke");
        sent += static_cast<std::size_t>(count);
    }
    return {};
}

Result<std::string> HostConnection::receive() {
    char buffer[16 << 10];
    while (true) {
        TRY(auto frame, reader_.next());
        if (frame) return *std::move(frame);
        const int count = recv(socket_, buffer, sizeof buffer, 0);
        if (count <= 0) return hns::hresult_error(hns::Hresult::RpcCallFailed);
        reader_.add(std::string_view(buffer, static_cast<std::size_t>(count)));
    }
}

void HostConnection::wait_forever() {
    const DWORD none = 0;
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, reinterpret_cast<const char*>(&none), sizeof none);
}

void HostConnection::shut_down() { shutdown(socket_, SD_BOTH); }

Result<hns::wire::Response> call_host(const hns::wire::Request& request) {
    // The connection carries one call at a time; guarded by `turn`.
    static std::mutex turn;
    static std::optional<HostConnection> kept;
    const std::lock_guard lock(turn);
    const bool reused = kept.has_value();
    std::optional<HostConnection> connection = std::exchange(kept, std::nullopt);
    const std::string json = hns::wire::write_request(request);
    // A connection kept from before may have ended with the service meanwhile: then nothing has been asked of it yet.
    if (reused && !connection->send(json)) connection.reset();
    if (!connection) {
        TRY(auto opened, HostConnection::open());
        TRY_VOID(opened.send(json));
        connection.emplace(std::move(opened));
    }
    TRY(const std::string answer, connection->receive());
    TRY(auto response, hns::wire::parse_response(answer));
    kept.emplace(std::move(*connection));
    return response;
}

PWSTR give(const std::string& text) {
    const std::wstring wide = to_wide(text);
    const std::size_t bytes = (wide.size() + 1) * sizeof(wchar_t);
    // Where Wine's CoTaskMemFree gives it back. COM itself would take longer to load than a call takes.
    auto* copy = static_cast<PWSTR>(HeapAlloc(GetProcessHeap(), 0, bytes));
    if (copy) std::memcpy(copy, wide.c_str(), bytes);
    return copy;
}

std::string utf8(PCWSTR text) { return text ? to_utf8(text) : ""; }

}  // namespace porthole::winhost
