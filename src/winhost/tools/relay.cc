// relay.exe PIPE ADDRESS TOKEN_FILE: serves the named pipe PIPE and carries each client's bytes to ADDRESS ("127.0.0.1:40001") and
// back, so that programs of the emulated host reach a server outside Wine by the pipe name that they know from Windows. Each TCP
// connection begins with the first line of TOKEN_FILE.
// winsock2.h comes before windows.h, which would bring in its predecessor.
// clang-format off
#include <winsock2.h>
#include <windows.h>
#include <ws2tcpip.h>
// clang-format on

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct Client {
    HANDLE pipe;
    SOCKET socket;
    HANDLE downstream;  ///< the thread from socket to pipe
};

sockaddr_in server{};
std::string token;

/// Overlapped, because a pipe opened otherwise lets a waiting read hold up every write.
bool transfer(HANDLE pipe, char* buffer, DWORD size, DWORD& count, bool write) {
    OVERLAPPED overlapped{};
    overlapped.hEvent = CreateEventW(nullptr, TRUE, FALSE, nullptr);
    const BOOL done = write ? WriteFile(pipe, buffer, size, nullptr, &overlapped) : ReadFile(pipe, buffer, size, nullptr, &overlapped);
    const bool under_way = done || GetLastError() == ERROR_IO_PENDING;
    const bool ok = under_way && GetOverlappedResult(pipe, &overlapped, &count, TRUE);
    CloseHandle(overlapped.hEvent);
    return ok;
}

DWORD WINAPI carry_down(void* argument) {
    auto* client = static_cast<Client*>(argument);
    char buffer[65536];
    for (int count; (count = recv(client->socket, buffer, sizeof buffer, 0)) > 0;) {
        for (DWORD start = 0, written = 0; start < static_cast<DWORD>(count); start += written)
            if (!transfer(client->pipe, buffer + start, static_cast<DWORD>(count) - start, written, true) || written == 0) count = 0;
        if (count == 0) break;
    }
    DisconnectNamedPipe(client->pipe);
    return 0;
}

DWORD WINAPI serve(void* argument) {
    auto* client = static_cast<Client*>(argument);
    client->socket = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    if (connect(client->socket, reinterpret_cast<sockaddr*>(&server), sizeof server) == 0 &&
        send(client->socket, token.data(), static_cast<int>(token.size()), 0) == static_cast<int>(token.size())) {
        const BOOL at_once = TRUE;
        setsockopt(client->socket, IPPROTO_TCP, TCP_NODELAY, reinterpret_cast<const char*>(&at_once), sizeof at_once);
        client->downstream = CreateThread(nullptr, 0, carry_down, client, 0, nullptr);
        char buffer[65536];
        bool open = client->downstream != nullptr;
        for (DWORD count = 0; open && transfer(client->pipe, buffer, sizeof buffer, count, false) && count > 0;) {
            for (DWORD start = 0; open && start < count;) {
                const int sent = send(client->socket, buffer + start, static_cast<int>(count - start), 0);
                open = sent > 0;
                if (open) start += static_cast<DWORD>(sent);
            }
        }
        shutdown(client->socket, SD_BOTH);
        if (client->downstream) WaitForSingleObject(client->downstream, INFINITE);
        if (client->downstream) CloseHandle(client->downstream);
    }
    DisconnectNamedPipe(client->pipe);
    CloseHandle(client->pipe);
    closesocket(client->socket);
    delete client;
    return 0;
}

std::string first_line(const char* path) {
    char buffer[512];
    DWORD count = 0;
    const HANDLE file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING, 0, nullptr);
    if (file == INVALID_HANDLE_VALUE || !ReadFile(file, buffer, sizeof buffer, &count, nullptr)) count = 0;
    CloseHandle(file);
    const std::string text(buffer, count);
    return text.substr(0, text.find_first_of("\r\n"));
}

bool parse_server(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    if (colon == address.npos) return false;
    server.sin_family = AF_INET;
    server.sin_port = htons(static_cast<u_short>(std::atoi(address.c_str() + colon + 1)));
    return inet_pton(AF_INET, address.substr(0, colon).c_str(), &server.sin_addr) == 1;
}

}  // namespace

int main(int count, char** words) {
    WSADATA data;
    if (count != 4 || WSAStartup(MAKEWORD(2, 2), &data) != 0 || !parse_server(words[2])) {
        std::fprintf(stderr, "usage: relay.exe \\\\.\\pipe\\NAME ADDRESS:PORT TOKEN_FILE\n");
        return 2;
    }
    token = first_line(words[3]) + "\n";
    for (;;) {
        const HANDLE pipe = CreateNamedPipeA(words[1], PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED, PIPE_TYPE_BYTE | PIPE_WAIT,
                                             PIPE_UNLIMITED_INSTANCES, 65536, 65536, 0, nullptr);
        if (pipe == INVALID_HANDLE_VALUE) {
            std::fprintf(stderr, "relay.exe: cannot serve %s: error %lu\n", words[1], GetLastError());
            return 1;
        }
        OVERLAPPED overlapped{};
        overlapped.hEvent = CreateEventW(nullptr, TRUE, FALSE, nullptr);
        DWORD ignored = 0;
        bool connected = ConnectNamedPipe(pipe, &overlapped) || GetLastError() == ERROR_PIPE_CONNECTED;
        if (!connected && GetLastError() == ERROR_IO_PENDING) connected = GetOverlappedResult(pipe, &overlapped, &ignored, TRUE);
        CloseHandle(overlapped.hEvent);
        auto* client = new Client{pipe, INVALID_SOCKET, nullptr};
        // Joined by nobody, but never detached either: CreateThread does not have that trouble under Wine.
        const HANDLE thread = connected ? CreateThread(nullptr, 0, serve, client, 0, nullptr) : nullptr;
        if (thread) {
            CloseHandle(thread);
        } else {
            CloseHandle(pipe);
            delete client;
        }
    }
}
