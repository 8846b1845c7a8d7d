// An HTTP server in C++: threads, streams, exceptions and files as the C++ library has them.
#include <winsock2.h>

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::mutex keeping;

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("there is no " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The whole request, or what had come when the client ended it.
std::string receive(SOCKET client) {
    std::string text;
    char part[4096];
    for (std::size_t wanted = std::string::npos; text.size() < wanted;) {
        const int size = recv(client, part, sizeof part, 0);
        if (size <= 0) break;
        text.append(part, static_cast<std::size_t>(size));
        const std::size_t body = text.find("\r\n\r\n"), length = text.find("Content-Length: ");
        if (body != std::string::npos) wanted = body + 4 + (length < body ? std::stoul(text.substr(length + 16)) : 0);
    }
    return text;
}

std::string answer_to(const std::string& request) {
    const std::lock_guard lock(keeping);
    if (request.starts_with("PUT ")) {
        std::ofstream("C:\\data\\kept", std::ios::binary) << request.substr(request.find("\r\n\r\n") + 4);
        return "";
    }
    if (request.starts_with("GET /kept ")) return read_file("C:\\data\\kept");
    std::ostringstream text;
    text << read_file("C:\\config\\greeting.txt") << " in C++ with " << RUNTIME << ", " << std::fixed << std::setprecision(2)
         << std::stod("0x1.8p1");
    return text.str();
}

void serve(SOCKET client) {
    const std::string request = receive(client);
    std::string status = "401 Unauthorized", body;
    if (request.find(std::string("Authorization: Bearer ") + std::getenv("TOKEN") + "\r\n") != std::string::npos) {
        try {
            body = answer_to(request);
            status = "200 OK";
        } catch (const std::runtime_error& error) {
            status = "404 Not Found";
            body = error.what();
        }
    }
    const std::string text =
        "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
    send(client, text.data(), static_cast<int>(text.size()), 0);
    shutdown(client, SD_SEND);
    closesocket(client);
}

BOOL WINAPI on_control(DWORD event) {
    std::cout << "ends after event " << event << std::endl;
    std::exit(0);
}

}  // namespace

int main() {
    WSADATA data;
    WSAStartup(MAKEWORD(2, 2), &data);
    SetConsoleCtrlHandler(on_control, TRUE);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(8080);
    const SOCKET listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener, 16) != 0) return 1;
    std::cout << "listening on 8080" << std::endl;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([listener] {
            while (true) serve(accept(listener, nullptr, nullptr));
        });
}
