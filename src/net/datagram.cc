#include "net/datagram.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/ip/udp.hpp>

#include "base/result.h"
#include "net/datagram_batch.h"
#include "net/error_text.h"
#include "runtime/asio_loop.h"

namespace porthole::net {

namespace {

namespace asio = boost::asio;
using asio::ip::udp;
using boost::system::error_code;

static_assert(DatagramSocket::MostInABatch == MostDatagrams);

udp::endpoint endpoint_of(const IpAddress& address, std::uint16_t port) {
    if (address.is_v4()) return {asio::ip::make_address_v4(address.v4_number()), port};
    return {asio::ip::make_address_v6(address.bytes()), port};
}

IpAddress address_of(const asio::ip::address& address) {
    return address.is_v4() ? IpAddress::v4(address.to_v4().to_uint()) : IpAddress::v6(address.to_v6().to_bytes());
}

class Receive final : public Operation<Datagram> {
public:
    explicit Receive(udp::socket& socket) : socket_(socket), buffer_(LargestDatagram, '\0') {}

private:
    void start() override {
        socket_.async_receive_from(
            asio::buffer(buffer_), sender_,
            asio::bind_cancellation_slot(signal_.slot(), [this](const error_code& error, std::size_t count) { done(error, count); }));
    }
    void cancel() override {
        cancelled_ = true;
        signal_.emit(asio::cancellation_type::terminal);
    }
    void done(const error_code& error, std::size_t count) {
        if (cancelled_ && error == asio::error::operation_aborted) return complete(cancelled_error());
        if (error) return complete(Error(Reason::Unavailable, text_of(error)));
        buffer_.resize(count);
        complete(Datagram{std::move(buffer_), address_of(sender_.address()), sender_.port()});
    }

    udp::socket& socket_;
    std::string buffer_;
    udp::endpoint sender_;
    asio::cancellation_signal signal_;
    bool cancelled_ = false;
};

/// Ends when a datagram has come. It is still there then, or, where the system waits so (WaitsForReadiness), in the first place of `batch`,
/// and the result is the number of places filled.
class WaitForBatch final : public Operation<std::size_t> {
public:
    WaitForBatch(udp::socket& socket, DatagramBatch& batch) : socket_(socket), batch_(batch) {}

private:
    void start() override {
        DatagramBatch::Place& first = batch_.places[0];
        if (WaitsForReadiness) {
            socket_.async_wait(udp::socket::wait_read,
                               asio::bind_cancellation_slot(signal_.slot(), [this](const error_code& error) { done(error, 0); }));
        } else {
            socket_.async_receive_from(
                asio::buffer(first.bytes), first.sender,
                asio::bind_cancellation_slot(signal_.slot(), [this, &first](const error_code& error, std::size_t count) {
                    first.size = count;
                    done(error, 1);
                }));
        }
    }
    void cancel() override {
        cancelled_ = true;
        signal_.emit(asio::cancellation_type::terminal);
    }
    void done(const error_code& error, std::size_t filled) {
        if (cancelled_ && error == asio::error::operation_aborted) return complete(cancelled_error());
        if (error) return complete(Error(Reason::Unavailable, text_of(error)));
        complete(filled);
    }

    udp::socket& socket_;
    DatagramBatch& batch_;
    asio::cancellation_signal signal_;
    bool cancelled_ = false;
};

class UdpSocket final : public DatagramSocket {
public:
    explicit UdpSocket(AsioLoop& loop) : socket_(loop.context()) {}

    error_code open(const IpAddress& address) {
        error_code error;
        socket_.open(address.is_v4() ? udp::v4() : udp::v6(), error);
        if (!error) socket_.non_blocking(true, error);
        return error;
    }
    error_code bind(const udp::endpoint& endpoint) {
        error_code error;
        socket_.bind(endpoint, error);
        return error;
    }
    error_code connect(const udp::endpoint& endpoint) {
        error_code error;
        report_unreachable(handle(), endpoint.address().is_v4());
        socket_.connect(endpoint, error);
        return error;
    }

    std::uint16_t port() const override {
        error_code ignored;
        return socket_.local_endpoint(ignored).port();
    }
    Task<Datagram> receive() override {
        Receive operation(socket_);
        co_return co_await operation;
    }
    Task<std::span<const DatagramView>> receive_batch() override {
        if (!batch_) batch_ = std::make_unique<DatagramBatch>();
        do {
            WaitForBatch arrival(socket_, *batch_);
            CO_TRY(const std::size_t first, co_await arrival);
            note(receive_present(handle(), *batch_, first));
        } while (views_.empty());  // what came was damaged, or an error that the look took away
        co_return std::span<const DatagramView>(views_);
    }
    void send_batch(std::span<const DatagramReply> replies) override {
        CHECK(replies.size() <= MostInABatch);
        outgoing_.clear();
        for (const DatagramReply& reply : replies) outgoing_.push_back({reply.bytes, endpoint_of(reply.address, reply.port)});
        net::send_batch(handle(), outgoing_);
    }
    Result<void> send_to(std::string_view bytes, const IpAddress& address, std::uint16_t port) override {
        error_code error;
        socket_.send_to(asio::buffer(bytes), endpoint_of(address, port), 0, error);
        return result(error);
    }
    Result<void> send(std::string_view bytes) override {
        error_code error;
        socket_.send(asio::buffer(bytes), 0, error);
        return result(error);
    }

private:
    std::uintptr_t handle() { return static_cast<std::uintptr_t>(socket_.native_handle()); }
    /// Shows the first `count` places of the batch.
    void note(std::size_t count) {
        views_.clear();
        for (const auto& place : std::span(batch_->places).first(count)) {
            views_.push_back({{place.bytes.data(), place.size}, address_of(place.sender.address()), place.sender.port()});
        }
    }
    static Result<void> result(const error_code& error) {
        if (!error || error == asio::error::would_block || error == asio::error::try_again) return {};
        return Error(Reason::Unavailable, text_of(error));
    }
    udp::socket socket_;
    std::unique_ptr<DatagramBatch> batch_;  // made for who asks for batches
    std::vector<DatagramView> views_;
    std::vector<OutgoingDatagram> outgoing_;
};

}  // namespace

Result<std::unique_ptr<DatagramSocket>> DatagramSocket::bind(AsioLoop& loop, const IpAddress& address, std::uint16_t port) {
    auto socket = std::make_unique<UdpSocket>(loop);
    error_code error = socket->open(address);
    if (!error) error = socket->bind(endpoint_of(address, port));
    if (!error) return std::unique_ptr<DatagramSocket>(std::move(socket));
    const Reason reason = error == asio::error::address_in_use ? Reason::AlreadyExists : Reason::Io;
    return Error(reason, "UDP port " + std::to_string(port) + " of " + address.to_string() + ": " + text_of(error));
}

Result<std::unique_ptr<DatagramSocket>> DatagramSocket::connect(AsioLoop& loop, const IpAddress& address, std::uint16_t port) {
    auto socket = std::make_unique<UdpSocket>(loop);
    error_code error = socket->open(address);
    if (!error) error = socket->connect(endpoint_of(address, port));
    if (!error) return std::unique_ptr<DatagramSocket>(std::move(socket));
    return Error(Reason::Unavailable, text_of(error) + ": " + address.to_string());
}

}  // namespace porthole::net
