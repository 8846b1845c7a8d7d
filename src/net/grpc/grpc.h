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

/// Both directions of the mapping; e.g. NotFound, AlreadyExists, Unavailable keep their names, DeadlineExceeded is
/// Timeout, Unimplemented is MethodNotAllowed. The error's first cause is {"GrpcStatus", "<number>"} when it came from
/// a peer.
Error error_of_grpc(GrpcStatus status, std::string message);
GrpcStatus grpc_of_reason(Reason reason);
/// The status of an error that came from a peer; what grpc_of_reason() says for others.
GrpcStatus grpc_status_of(const Error& error);
/// Whether the call that failed so did certainly nothing: there was no connection for it, or the server refused to begin it. After any
/// other failure without an answer, the server may have done what it was asked.
bool grpc_was_not_begun(const Error& error);
/// The same error, of a call that was not begun.
Error grpc_not_begun(Error error);

/// A call with several messages in one or both directions. Destroying it cancels the call.
class GrpcStream {
public:
    virtual ~GrpcStream() = default;
    /// The next message, or nullopt when the call has ended with status OK. Error: what the server's status means.
    virtual Task<std::optional<std::string>> next() = 0;
    /// Waits while the server's window is closed. Error: Unavailable.
    virtual Task<> send(std::string message) = 0;
    virtual void end_sending() = 0;
};

/// Makes a connection to one server.
using GrpcDial = std::function<Task<std::unique_ptr<ByteStream>>()>;
/// Plain text unless `tls` is given, and then HTTP/2 by ALPN.
GrpcDial grpc_dial(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls);

/// What every call of a channel says.
struct GrpcChannelOptions {
    std::string scheme = "http", authority = "localhost";
    Headers metadata;
    std::size_t largest = 64 << 20;  ///< bytes of an answer; a longer one is an error
    Duration connect_time = std::chrono::seconds(10);
};

/// Calls of one gRPC server over one HTTP/2 connection, made when needed and remade when lost. Messages are the encoded
/// bytes; `method` is the path, "/runtime.v1.RuntimeService/Version". Used on `loop`, which must outlive it.
class GrpcChannel {
public:
    static constexpr std::size_t LargestMessage = 64 << 20;

    /// Plain text (for Unix sockets and loopback) unless `tls` is given. A longer answer than `largest` bytes is an error.
    GrpcChannel(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls = nullptr,
                std::size_t largest = LargestMessage);
    /// Over connections that `dial` makes, each to speak HTTP/2 at once.
    GrpcChannel(EventLoop& loop, GrpcDial dial, GrpcChannelOptions options);
    ~GrpcChannel();

    /// One message each way. Error: Timeout after `deadline`, Unavailable when the server cannot be reached, or what
    /// the server's status means.
    Task<std::string> call(std::string method, std::string request, Duration deadline = std::chrono::minutes(2));
    /// One message there, any number back; without a deadline.
    Task<std::unique_ptr<GrpcStream>> open(std::string method, std::string request);
    /// As HttpClient::close().
    Task<> close();

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// Where a server's streaming method puts its messages. Valid until the method's task ends.
class GrpcWriter {
public:
    virtual ~GrpcWriter() = default;
    /// Waits while the client's window is closed. Error: Unavailable when the client has ended the call.
    virtual Task<> write(std::string message) = 0;
};

/// The methods of a gRPC server, as the handler of an HttpServer (whose body limit is then that of a request message).
class GrpcHandler final : public HttpHandler {
public:
    using Unary = std::function<Task<std::string>(std::string request)>;
    using Streaming = std::function<Task<>(std::string request, GrpcWriter& writer)>;

    /// A method's errors become its status. Tasks are cancelled when the client leaves or its deadline passes. Add all before serving.
    void add(std::string method, Unary unary);
    void add_streaming(std::string method, Streaming streaming);
    /// The method as it was added, to be called without a connection; null where there is none.
    const Unary* find(const std::string& method) const;

    Task<> handle(HttpRequest request, HttpResponder& responder) override;

private:
    Task<> dispatch(std::string path, std::string message, HttpResponder& responder);

    std::map<std::string, Unary> unary_;
    std::map<std::string, Streaming> streaming_;
};

/// A message behind its five bytes of prefix.
std::string grpc_frame(std::string_view message);

/// Puts messages together from pieces cut anywhere.
class GrpcReassembler {
public:
    explicit GrpcReassembler(std::size_t limit) : limit_(limit) {}
    void add(std::string_view bytes) { buffer_.append(bytes); }
    /// The next whole message, if there is one. Error: TooManyRequests over the limit in bytes, BadRequest if compressed.
    Result<std::optional<std::string>> take();
    bool empty() const { return buffer_.size() == taken_; }

private:
    std::size_t limit_;
    std::string buffer_;
    std::size_t taken_ = 0;
};

}  // namespace porthole::net
