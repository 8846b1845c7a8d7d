#include "net/asio_socket.h"

#include "net/keep_alive.h"

namespace porthole::net {
namespace {

using SocketPointer = std::shared_ptr<Socket>;

class Read final : public SocketOperation<std::size_t> {
public:
    Read(SocketPointer socket, std::span<char> buffer) : socket_(std::move(socket)), buffer_(buffer) {}

private:
    void start() override {
        socket_->async_read_some(asio::buffer(buffer_.data(), buffer_.size()),
                                 bound([this](const error_code& error, std::size_t count) { done(error, count); }));
    }
    void done(const error_code& error, std::size_t count) {
        if (error == asio::error::eof) return complete(0);
        if (error) return complete(failure(error));
        complete(count);
    }
    SocketPointer socket_;
    std::span<char> buffer_;
};

/// Writes at once what the kernel takes, and waits only for the rest.
class Write final : public SocketOperation<void> {
public:
    Write(SocketPointer socket, std::string_view bytes) : socket_(std::move(socket)), bytes_(bytes) {}

private:
    void start() override {
        while (!bytes_.empty()) {
            error_code error;
            const std::size_t count = socket_->write_some(asio::buffer(bytes_), error);
            if (error == asio::error::would_block || error == asio::error::try_again) return wait();
            if (error) return complete(failure(error));
            bytes_.remove_prefix(count);
        }
        complete({});
    }
    void wait() {
        socket_->async_wait(Socket::wait_write, bound([this](const error_code& error) {
                                if (error) return complete(failure(error));
                                start();
                            }));
    }
    SocketPointer socket_;
    std::string_view bytes_;
};

Task<std::size_t> read_socket(SocketPointer socket, std::span<char> buffer) {
    Read operation(std::move(socket), buffer);
    co_return co_await operation;
}

Task<> write_socket(SocketPointer socket, std::string_view bytes) {
    Write operation(std::move(socket), bytes);
    co_return co_await operation;
}

Task<> end_socket(SocketPointer socket) {
    error_code error;
    socket->shutdown(Socket::shutdown_send, error);
    if (error) co_return to_error(error);
    co_return {};
}

class SocketStream final : public ByteStream {
public:
    explicit SocketStream(SocketPointer socket) : socket_(std::move(socket)) {}
    ~SocketStream() override { close(); }

    Task<std::size_t> read(std::span<char> buffer) override { return read_socket(socket_, buffer); }
    Task<> write(std::string_view bytes) override { return write_socket(socket_, bytes); }
    Task<> end_writing() override { return end_socket(socket_); }
    void close() override {
        error_code ignored;
        socket_->close(ignored);
    }

private:
    SocketPointer socket_;
};

class Connect final : public SocketOperation<void> {
public:
    Connect(Socket& socket, Socket::endpoint_type endpoint) : socket_(socket), endpoint_(std::move(endpoint)) {}

private:
    void start() override {
        socket_.async_connect(endpoint_, bound([this](const error_code& error) { complete(error ? failure(error) : Result<void>()); }));
    }
    Socket& socket_;
    Socket::endpoint_type endpoint_;
};

}  // namespace

Error to_error(const error_code& error) {
    if (error == asio::error::operation_aborted) return Error(Reason::Unavailable, "connection closed");
    return Error(Reason::Unavailable, text_of(error));
}

Error listen_error(const error_code& error, const std::string& where) {
    const Reason reason = error == asio::error::address_in_use ? Reason::AlreadyExists : Reason::Io;
    return Error(reason, "listen on " + where + ": " + text_of(error));
}

std::unique_ptr<ByteStream> stream_of(Socket socket, bool is_tcp) {
    error_code ignored;
    socket.non_blocking(true, ignored);
    if (is_tcp) {
        socket.set_option(asio::ip::tcp::no_delay(true), ignored);
        detect_dead_peers(static_cast<std::intptr_t>(socket.native_handle()));
    }
    return std::make_unique<SocketStream>(std::make_shared<Socket>(std::move(socket)));
}

Task<std::unique_ptr<ByteStream>> connect_one(asio::io_context& context, Socket::endpoint_type endpoint, bool is_tcp) {
    Socket socket(context);
    error_code error;
    socket.open(endpoint.protocol(), error);
    if (error) co_return to_error(error);
    Connect operation(socket, std::move(endpoint));
    CO_TRY_VOID(co_await operation);
    co_return stream_of(std::move(socket), is_tcp);
}

}  // namespace porthole::net
