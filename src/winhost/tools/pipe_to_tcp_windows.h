#pragma once
// winsock2.h comes before windows.h, which would bring in its predecessor.
// clang-format off
#include <winsock2.h>
#include <windows.h>
#include <ws2tcpip.h>
// clang-format on

#include <cstdlib>
#include <string>
#include <vector>

namespace porthole::winhost {

/// Serves named pipes and copies each client's bytes to a TCP server and back, so that programs of the emulated host reach a server outside
/// Wine by the pipe name that they use on Windows. Has its own threads, so it must exist until the process ends.
class PipesToTcp {
public:
    static constexpr std::size_t MostPipes = MAXIMUM_WAIT_OBJECTS;

    /// Each connection to a server begins with the first line of the file `token_file`.
    explicit PipesToTcp(const std::wstring& token_file) : token_(first_line(token_file) + "\n") {}
    /// Before start(). `server` is "127.0.0.1:40001". False for one that is not a valid address.
    bool add(std::wstring pipe, const std::wstring& server) {
        WSADATA data;
        Pipe made{std::move(pipe)};
        const std::size_t colon = server.rfind(L':');
        made.server.sin_family = AF_INET;
        if (pipes_.size() == MostPipes || colon == server.npos || WSAStartup(MAKEWORD(2, 2), &data) != 0 ||
            InetPtonW(AF_INET, server.substr(0, colon).c_str(), &made.server.sin_addr) != 1)
            return false;
        made.server.sin_port = htons(static_cast<u_short>(_wtoi(server.c_str() + colon + 1)));
        pipes_.push_back(std::move(made));
        return true;
    }
    bool start() {
        const HANDLE thread = CreateThread(nullptr, 0, accept, this, 0, nullptr);
        if (thread) CloseHandle(thread);
        return thread != nullptr;
    }

private:
    static constexpr DWORD Pause = 1000;  ///< milliseconds, where the pipe cannot be served just now

    /// A pipe's name, and the instance that waits for the next client.
    struct Pipe {
        std::wstring name;
        sockaddr_in server{};
        HANDLE instance = INVALID_HANDLE_VALUE;
        OVERLAPPED overlapped{};  ///< its event is set when a client has connected, or the instance has to be created again
    };
    struct Client {
        const PipesToTcp& relay;
        sockaddr_in server;
        HANDLE pipe;
        SOCKET socket = INVALID_SOCKET;
        HANDLE downstream = nullptr;  ///< the thread from socket to pipe
    };

    /// Overlapped, because otherwise a pending read on a pipe blocks every write.
    static bool transfer(HANDLE pipe, char* buffer, DWORD size, DWORD& count, bool write) {
        OVERLAPPED overlapped{};
        overlapped.hEvent = CreateEventW(nullptr, TRUE, FALSE, nullptr);
        const BOOL done = write ? WriteFile(pipe, buffer, size, nullptr, &overlapped) : ReadFile(pipe, buffer, size, nullptr, &overlapped);
        const bool under_way = done || GetLastError() == ERROR_IO_PENDING;
        const bool ok = under_way && GetOverlappedResult(pipe, &overlapped, &count, TRUE);
        CloseHandle(overlapped.hEvent);
        return ok;
    }

    static DWORD WINAPI carry_down(void* argument) {
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

    static void carry_up(Client& client) {
        char buffer[65536];
        for (DWORD count = 0; transfer(client.pipe, buffer, sizeof buffer, count, false) && count > 0;) {
            for (DWORD start = 0; start < count;) {
                const int sent = send(client.socket, buffer + start, static_cast<int>(count - start), 0);
                if (sent <= 0) return;
                start += static_cast<DWORD>(sent);
            }
        }
    }

    bool connect_to_server(Client& client) const {
        const BOOL at_once = TRUE;
        const int size = static_cast<int>(token_.size());
        client.socket = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
        if (connect(client.socket, reinterpret_cast<const sockaddr*>(&client.server), sizeof client.server) != 0) return false;
        setsockopt(client.socket, IPPROTO_TCP, TCP_NODELAY, reinterpret_cast<const char*>(&at_once), sizeof at_once);
        return send(client.socket, token_.data(), size, 0) == size;
    }

    static DWORD WINAPI serve(void* argument) {
        auto* client = static_cast<Client*>(argument);
        if (client->relay.connect_to_server(*client)) {
            client->downstream = CreateThread(nullptr, 0, carry_down, client, 0, nullptr);
            if (client->downstream) carry_up(*client);
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

    /// An instance that waits; where there cannot be one just now, the event is set for the next attempt.
    static void open(Pipe& pipe) {
        ResetEvent(pipe.overlapped.hEvent);
        pipe.instance = CreateNamedPipeW(pipe.name.c_str(), PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED, PIPE_TYPE_BYTE | PIPE_WAIT,
                                         PIPE_UNLIMITED_INSTANCES, 65536, 65536, 0, nullptr);
        const bool made = pipe.instance != INVALID_HANDLE_VALUE;
        const bool pending = made && !ConnectNamedPipe(pipe.instance, &pipe.overlapped) && GetLastError() == ERROR_IO_PENDING;
        if (!pending) SetEvent(pipe.overlapped.hEvent);
    }

    /// A client has connected, or the instance has failed.
    void take(Pipe& pipe) const {
        DWORD ignored = 0;
        if (pipe.instance == INVALID_HANDLE_VALUE) {
            Sleep(Pause);
            return;
        }
        const bool connected = GetOverlappedResult(pipe.instance, &pipe.overlapped, &ignored, FALSE) ||
                               ConnectNamedPipe(pipe.instance, nullptr) || GetLastError() == ERROR_PIPE_CONNECTED;
        auto* client = connected ? new Client{*this, pipe.server, pipe.instance} : nullptr;
        // Never joined, and not detached either: CreateThread does not have that problem under Wine.
        const HANDLE thread = client ? CreateThread(nullptr, 0, serve, client, 0, nullptr) : nullptr;
        if (thread) {
            CloseHandle(thread);
        } else {
            CloseHandle(pipe.instance);
            delete client;
        }
    }

    static DWORD WINAPI accept(void* argument) {
        auto& self = *static_cast<PipesToTcp*>(argument);
        std::vector<HANDLE> events;
        for (Pipe& pipe : self.pipes_) {
            pipe.overlapped.hEvent = CreateEventW(nullptr, TRUE, FALSE, nullptr);
            events.push_back(pipe.overlapped.hEvent);
            open(pipe);
        }
        for (;;) {
            const DWORD ready = WaitForMultipleObjects(static_cast<DWORD>(events.size()), events.data(), FALSE, INFINITE);
            if (ready >= events.size()) return 1;
            self.take(self.pipes_[ready]);
            open(self.pipes_[ready]);
        }
    }

    static std::string first_line(const std::wstring& path) {
        char buffer[512];
        DWORD count = 0;
        const HANDLE file = CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING, 0, nullptr);
        if (file == INVALID_HANDLE_VALUE || !ReadFile(file, buffer, sizeof buffer, &count, nullptr)) count = 0;
        CloseHandle(file);
        const std::string text(buffer, count);
        return text.substr(0, text.find_first_of("\r\n"));
    }

    const std::string token_;
    std::vector<Pipe> pipes_;
};

}  // namespace porthole::winhost
