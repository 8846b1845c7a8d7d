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

/// Ends when a datagram has come, with the bytes of it that are in `buffer`, or, without a buffer, while it is still there, with 0.
class Arrival final : public Operation<std::size_t> {
public:
    Arrival(udp::socket& socket, asio::mutable_buffer buffer, udp::endpoint& sender) : socket_(socket), buffer_(buffer), sender_(&sender) {}
    explicit Arrival(udp::socket& socket) : socket_(socket) {}

private:
    void start() override {
        auto done = asio::bind_cancellation_slot(signal_.slot(), [this](const error_code& error, std::size_t count = 0) {
            if (cancelled_ && error == asio::error::operation_aborted) return complete(cancelled_error());
            if (error) return complete(Error(Reason::Unavailable, text_of(error)));
            complete(count);
        });
        if (sender_)
            socket_.async_receive_from(buffer_, *sender_, std::move(done));
        else
            socket_.async_wait(udp::socket::wait_read, std::move(done));
    }
    void cancel() override {
        cancelled_ = true;
        signal_.emit(asio::cancellation_type::terminal);
    }

    udp::socket& socket_;
    asio::mutable_buffer buffer_;
    udp::endpoint* sender_ = nullptr;
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
        std::string bytes(LargestDatagram, '\0');
        udp::endpoint sender;
        Arrival arrival(socket_, asio::buffer(bytes), sender);
        CO_TRY(const std::size_t size, co_await arrival);
        bytes.resize(size);
        co_return Datagram{std::move(bytes), address_of(sender.address()), sender.port()};
    }
    Task<std::span<const DatagramView>> receive_batch() override {
        if (!batch_) batch_ = std::make_unique<DatagramBatch>();
        do {
            CO_TRY(const std::size_t first, co_await first_of_batch());
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
    /// Waits for a datagram; how many places of the batch it has filled.
    Task<std::size_t> first_of_batch() {
        if (WaitsForReadiness) {
            Arrival arrival(socket_);
            co_return co_await arrival;
        }
        DatagramBatch::Place& first = batch_->places[0];
        Arrival arrival(socket_, asio::buffer(first.bytes), first.sender);
        CO_TRY(first.size, co_await arrival);
        co_return std::size_t{1};
    }
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
