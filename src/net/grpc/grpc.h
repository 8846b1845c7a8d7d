#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/http/http.h"
#include "net/http/http_client.h"
#include "runtime/event_loop.h"

namespace porthole::net {

/// The status codes of gRPC.
enum class GrpcStatus {
    Ok = 0,
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
};

/// Both directions of the mapping between gRPC statuses and reasons. NotFound, AlreadyExists, Unavailable and others keep their names;
/// DeadlineExceeded is Timeout, Unimplemented is MethodNotAllowed. If the error came from a peer, its first cause is {"GrpcStatus",
/// "<number>"}.
Error error_of_grpc(GrpcStatus status, std::string message);
GrpcStatus grpc_of_reason(Reason reason);
/// The status of an error from a peer; for other errors that of grpc_of_reason().
GrpcStatus grpc_status_of(const Error& error);
/// Whether the failed call certainly had no effect: there was no connection, or the server refused to begin. After any other failure
/// without an answer, the server may have executed it.
bool grpc_was_not_begun(const Error& error);
/// The same error, marked as that of a call that was not begun.
Error grpc_not_begun(Error error);

/// A call with several messages in one or both directions. Destroying it cancels the call.
class GrpcStream {
public:
    virtual ~GrpcStream() = default;
    /// The next message, or nullopt if the call has ended with status OK. Error: the reason of the server's status.
    virtual Task<std::optional<std::string>> next() = 0;
    /// Waits while the server's flow-control window is closed. Error: Unavailable.
    virtual Task<> send(std::string message) = 0;
    virtual void end_sending() = 0;
};

/// Opens a connection to one server.
using GrpcDial = std::function<Task<std::unique_ptr<ByteStream>>()>;
/// Plain text if `tls` is null; otherwise TLS, with HTTP/2 chosen by ALPN.
GrpcDial grpc_dial(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls);

/// Options of every call of a channel.
struct GrpcChannelOptions {
    std::string scheme = "http", authority = "localhost";
    Headers metadata;
    std::size_t largest = 64 << 20;  ///< bytes of an answer; a longer one is an error
    Duration connect_time = std::chrono::seconds(10);
    /// Before a connection is tried again that could not be made, or broke before it answered a call a second after it was made; it
    /// doubles up to the longest. Calls in between fail at once. Zero: no pause.
    Duration first_pause{}, longest_pause{};
};

/// Calls to one gRPC server over one HTTP/2 connection, which is opened when needed and reopened when lost. Messages are encoded bytes;
/// `method` is the path, "/runtime.v1.RuntimeService/Version". Used on `loop`, which must outlive it.
class GrpcChannel {
public:
    static constexpr std::size_t LargestMessage = 64 << 20;

    /// Plain text (for Unix sockets and loopback) unless `tls` is given. An answer longer than `largest` bytes is an error.
    GrpcChannel(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls = nullptr,
                std::size_t largest = LargestMessage);
    /// Uses connections from `dial`, on which HTTP/2 begins immediately.
    GrpcChannel(EventLoop& loop, GrpcDial dial, GrpcChannelOptions options);
    ~GrpcChannel();

    /// One message in each direction. Error: Timeout after `deadline`, Unavailable if the server cannot be reached, or the reason of the
    /// server's status.
    Task<std::string> call(std::string method, std::string request, Duration deadline = std::chrono::minutes(2));
    /// Sends one message and receives any number; without a deadline.
    Task<std::unique_ptr<GrpcStream>> open(std::string method, std::string request);
    /// As HttpClient::close().
    Task<> close();

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// Sends the messages of a server's streaming method. Valid until the method's task ends.
class GrpcWriter {
public:
    virtual ~GrpcWriter() = default;
    /// Waits while the client's flow-control window is closed. Error: Unavailable if the client has ended the call.
    virtual Task<> write(std::string message) = 0;
};

/// The methods of a gRPC server, as the handler of an HttpServer, whose body limit is the limit of a request message.
class GrpcHandler final : public HttpHandler {
public:
    using Unary = std::function<Task<std::string>(std::string request)>;
    using Streaming = std::function<Task<>(std::string request, GrpcWriter& writer)>;

    /// A method's error becomes its status. Tasks are cancelled when the client disconnects or its deadline passes. Add all methods before
    /// serving.
    void add(std::string method, Unary unary);
    void add_streaming(std::string method, Streaming streaming);
    /// The method as added, to call it without a connection; null if there is none.
    const Unary* find(const std::string& method) const;

    Task<> handle(HttpRequest request, HttpResponder& responder) override;

private:
    Task<> dispatch(std::string path, std::string message, HttpResponder& responder);

    std::map<std::string, Unary> unary_;
    std::map<std::string, Streaming> streaming_;
};

/// A message with its five-byte prefix.
std::string grpc_frame(std::string_view message);

/// Reassembles messages from pieces of any size.
class GrpcReassembler {
public:
    explicit GrpcReassembler(std::size_t limit) : limit_(limit) {}
    void add(std::string_view bytes) { buffer_.append(bytes); }
    /// The next complete message, if any. Error: TooManyRequests beyond the limit in bytes, BadRequest if compressed.
    Result<std::optional<std::string>> take();
    bool empty() const { return buffer_.size() == taken_; }

private:
    std::size_t limit_;
    std::string buffer_;
    std::size_t taken_ = 0;
};

}  // namespace porthole::net
