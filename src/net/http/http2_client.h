#pragma once  // private to this folder
#include "net/http/http2_session.h"

namespace porthole::net {

class Http2Client;

/// An outgoing request and its answer as it arrives. Keeps its connection alive; destroying it resets the stream.
class Http2Request final : public Http2Stream {
public:
    explicit Http2Request(Http2Client& client);
    ~Http2Request() override;

    /// Waits for the head of the answer. Error: Unavailable if there will be none.
    Task<> wait_for_head();
    int code() const { return code_; }
    const Headers& headers() const { return headers_; }
    const Headers& trailers() const { return trailers_; }
    /// The next piece of the body, or nullopt at its end. Error: Unavailable if the body is cut off.
    Task<std::optional<std::string>> next();

    using Http2Stream::end_sending;
    using Http2Stream::queue;
    using Http2Stream::reset;
    using Http2Stream::send;
    /// True if the server certainly did not process the request: it may be sent again.
    bool was_refused() const { return refused_; }
    bool head_received() const { return head_done_; }

private:
    void on_header(std::string name, std::string value) override;
    void on_headers_end() override;
    void on_data(std::string_view bytes) override;
    void on_end() override;
    void on_close(Http2Error error) override;
    Error failure() const;

    std::shared_ptr<Http2Client> client_;
    int code_ = 0;
    Headers headers_, trailers_;
    std::size_t header_bytes_ = 0;  ///< of both heads
    bool head_done_ = false, ended_ = false, gone_ = false, refused_ = false;
    Http2Error close_error_ = Http2Error::None;
    std::deque<std::string> pieces_;
    std::size_t unconsumed_ = 0;  ///< bytes in pieces_
    Event changed_;
};

/// The client's side of a connection. It lives as long as its tasks or requests do; shut_down() ends the tasks.
class Http2Client final : public Http2Session, public std::enable_shared_from_this<Http2Client> {
public:
    /// Takes ownership of a connection and starts HTTP/2 on it.
    static std::shared_ptr<Http2Client> start(EventLoop& loop, std::unique_ptr<ByteStream> stream);
    Http2Client(EventLoop& loop, std::unique_ptr<ByteStream> stream);

    /// True if a request may be begun now.
    bool has_room() const { return usable() && open_streams() < peer_stream_limit(); }
    bool usable() const { return running_ && !draining_; }
    bool running() const { return running_; }
    const std::string& why_ended() const { return why_ended_; }
    /// `headers` with the pseudo fields first. The caller queues the body; `has_body` false: there is none.
    Result<std::shared_ptr<Http2Request>> open(const Headers& headers, bool has_body);
    /// Drops the connection; its tasks end at later turns of the loop.
    void shut_down();
    /// Waits for the tasks' end. Error: Cancelled.
    Task<> wait_ended();

private:
    friend Http2Request;
    Task<> run();
    Http2Stream* on_begin(std::int32_t) override { return nullptr; }
    void on_goaway() override { draining_ = true; }

    ChildTask running_task_{loop()};
    bool running_ = true, draining_ = false;
    std::string why_ended_;
    Event ended_;
};

}  // namespace porthole::net
