#include "net/grpc/grpc.h"
#include "net/http/http2_client.h"
#include "net/socket.h"
#include "net/tls/tls_stream.h"
#include "runtime/asio_loop.h"

namespace porthole::net {
namespace {

/// A connection that still answers after it is a good one.
constexpr Duration ProbationTime = std::chrono::seconds(1);

/// "1500m": milliseconds, at most eight digits.
std::string timeout_text(Duration deadline) {
    constexpr std::int64_t Longest = 99'999'999;
    const std::int64_t milliseconds = std::chrono::ceil<std::chrono::milliseconds>(deadline).count();
    return std::to_string(std::min(milliseconds, Longest)) + "m";
}

Task<std::unique_ptr<ByteStream>> dial_endpoint(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls) {
    CO_TRY(auto stream, co_await connect_socket(loop, endpoint));
    if (!tls) co_return std::move(stream);
    CO_TRY(TlsConnection secured, co_await tls_connect(std::move(stream), tls, endpoint.host, {"h2"}));
    co_return std::move(secured.stream);
}

class Http2GrpcStream final : public GrpcStream {
public:
    Http2GrpcStream(std::shared_ptr<Http2Request> request, std::size_t largest) : request_(std::move(request)), messages_(largest) {}

    Task<std::optional<std::string>> next() override {
        CO_TRY_VOID(co_await request_->wait_for_head());
        for (;;) {
            CO_TRY(auto message, messages_.take());
            if (message) co_return std::move(message);
            CO_TRY(const auto piece, co_await request_->next());
            if (!piece) {
                CO_TRY_VOID(status());
                co_return std::optional<std::string>();
            }
            messages_.add(*piece);
        }
    }
    Task<> send(std::string message) override { return request_->send(std::make_shared<const std::string>(grpc_frame(message))); }
    void end_sending() override { request_->end_sending(); }
    Http2Request& request() { return *request_; }

private:
    /// The call's status: in the trailers, or in the head of an answer without a body.
    Result<void> status() const {
        const bool in_trailers = request_->trailers().has("grpc-status");
        const Headers& fields = in_trailers ? request_->trailers() : request_->headers();
        const std::string code(fields.get("grpc-status"));
        if (code == "0") return {};
        if (code.empty()) {
            return Error(Reason::Unavailable, "gRPC: response without a status (HTTP " + std::to_string(request_->code()) + ")");
        }
        return error_of_grpc(static_cast<GrpcStatus>(std::atoi(code.c_str())), percent_decode(fields.get("grpc-message")));
    }

    std::shared_ptr<Http2Request> request_;
    GrpcReassembler messages_;
};

}  // namespace

GrpcDial grpc_dial(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls) {
    return [&loop, endpoint = std::move(endpoint), tls = std::move(tls)] { return dial_endpoint(loop, endpoint, tls); };
}

struct GrpcChannel::Impl {
    Impl(EventLoop& loop, GrpcDial dial, GrpcChannelOptions options) : loop(loop), dial(std::move(dial)), options(std::move(options)) {}

    /// Those who wait for one connection share its failure.
    Task<std::shared_ptr<Http2Client>> connected() {
        const std::size_t failures_before = failures;
        CO_TRY(const auto permit, co_await dialing.acquire());
        if (connection && connection->has_room()) co_return connection;
        if (closed) co_return Error(Reason::Unavailable, "the channel was closed");
        if (failures != failures_before) co_return *failure;
        note_loss();
        if (loop.now() < not_before) co_return *failure;
        auto dialed = co_await with_timeout(dial(), options.connect_time, "connect to gRPC server");
        if (!dialed && !is_cancelled(dialed)) ++failures, pause_after(dialed.error());
        CO_TRY_VOID(dialed);
        if (closed) co_return Error(Reason::Unavailable, "the channel was closed");
        connection = Http2Client::start(loop, *std::move(dialed));
        made = loop.now();
        on_probation = true;
        co_return connection;
    }

    void note_loss() {
        if (!connection || connection->usable() || !std::exchange(on_probation, false)) return;
        const std::string& why = connection->why_ended();
        pause_after(Error(Reason::Unavailable, why.empty() ? "the server is ending the connection" : why));
    }
    void note_answer() {
        if (loop.now() - made < ProbationTime) return;
        on_probation = false;
        pause = options.first_pause;
    }
    void pause_after(Error why) {
        failure = std::move(why);
        not_before = loop.now() + pause;
        pause = std::min(2 * pause, options.longest_pause);
    }

    Task<std::unique_ptr<Http2GrpcStream>> open(std::string method, std::optional<Duration> deadline) {
        Headers headers{{":method", "POST"},          {":scheme", options.scheme},          {":authority", options.authority},
                        {":path", std::move(method)}, {"content-type", "application/grpc"}, {"te", "trailers"},
                        {"user-agent", "porthole"}};
        if (deadline) headers.add("grpc-timeout", timeout_text(*deadline));
        for (const auto& [name, value] : options.metadata.fields()) headers.add(name, value);
        const auto client = co_await connected();
        if (is_cancelled(client)) co_return client.error();
        if (!client) co_return grpc_not_begun(client.error());
        auto request = (*client)->open(headers, true);
        if (!request) co_return grpc_not_begun(std::move(request).error());
        co_return std::make_unique<Http2GrpcStream>(std::move(*request), options.largest);
    }

    /// A connection that the server is about to end may refuse a call, which is then made on the next one.
    /// `queued`: whether the server may have the request.
    Task<std::string> call(std::string method, std::string message, Duration deadline, bool& queued) {
        for (bool again = false;; again = true) {
            queued = false;
            CO_TRY(const auto stream, co_await open(method, deadline));
            queued = true;
            stream->request().queue(std::make_shared<const std::string>(grpc_frame(message)));
            stream->end_sending();
            auto answer = co_await stream->next();
            if (!answer) {
                if (!stream->request().was_refused()) co_return std::move(answer).error();
                if (again) co_return grpc_not_begun(std::move(answer).error());
                continue;
            }
            if (!*answer) co_return Error(Reason::InternalError, "gRPC: status OK without a response");
            std::string first = std::move(**answer);
            CO_TRY(const auto end, co_await stream->next());
            if (end) co_return Error(Reason::InternalError, "gRPC: more than one response");
            note_answer();
            co_return first;
        }
    }

    Task<std::string> call_within(std::string method, std::string message, Duration deadline) {
        bool queued = false;
        auto answer = co_await with_timeout(call(std::move(method), std::move(message), deadline, queued), deadline, "gRPC call");
        if (!answer && !queued && !is_cancelled(answer)) co_return grpc_not_begun(std::move(answer).error());
        co_return answer;
    }

    EventLoop& loop;
    const GrpcDial dial;
    const GrpcChannelOptions options;
    std::shared_ptr<Http2Client> connection;
    Semaphore dialing{1};
    std::size_t failures = 0;  ///< of dialing
    std::optional<Error> failure;
    Duration pause = options.first_pause;  ///< after the next failure
    MonotonicTime made{}, not_before{};
    bool on_probation = false;
    bool closed = false;
};

namespace {

/// Keeps what the task refers to.
template <class T, class Owner>
Task<T> holding(std::shared_ptr<Owner> owner, Task<T> task) {
    co_return co_await std::move(task);
}

Task<std::unique_ptr<GrpcStream>> send_and_end(Task<std::unique_ptr<Http2GrpcStream>> opening, std::string message) {
    CO_TRY(auto stream, co_await std::move(opening));
    stream->request().queue(std::make_shared<const std::string>(grpc_frame(message)));
    stream->end_sending();
    co_return std::move(stream);
}

}  // namespace

GrpcChannel::GrpcChannel(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls, std::size_t largest)
    : GrpcChannel(loop, grpc_dial(loop, endpoint, tls),
                  {.scheme = tls ? "https" : "http",
                   .authority = endpoint.unix_path.empty() ? host_and_port(endpoint.host, endpoint.port) : "localhost",
                   .metadata = {},
                   .largest = largest}) {}

GrpcChannel::GrpcChannel(EventLoop& loop, GrpcDial dial, GrpcChannelOptions options)
    : impl_(std::make_shared<Impl>(loop, std::move(dial), std::move(options))) {}

GrpcChannel::~GrpcChannel() {
    impl_->closed = true;
    if (impl_->connection) impl_->connection->shut_down();
}

Task<std::string> GrpcChannel::call(std::string method, std::string request, Duration deadline) {
    return holding(impl_, impl_->call_within(std::move(method), std::move(request), deadline));
}

Task<std::unique_ptr<GrpcStream>> GrpcChannel::open(std::string method, std::string request) {
    return holding(impl_, send_and_end(impl_->open(std::move(method), std::nullopt), std::move(request)));
}

Task<> GrpcChannel::close() {
    impl_->closed = true;
    if (!impl_->connection) co_return {};
    impl_->connection->shut_down();
    co_return co_await impl_->connection->wait_ended();
}

}  // namespace porthole::net
