#pragma once  // private to this folder
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <span>

#include "net/child_task.h"
#include "net/http/http_connection.h"

struct nghttp2_session;

namespace porthole::net {

// RFC 9113, section 7.
enum class Http2Error : std::uint32_t {
    None = 0,
    Protocol = 1,
    Internal = 2,
    RefusedStream = 7,
    Cancel = 8,
    EnhanceYourCalm = 11,
};

struct Http2Callbacks;
class Http2Session;

/// One request and its answer on a connection, seen from either side. Outgoing data are queued here, and the connection's writer sends them
/// as the peer's windows allow; incoming data are passed to the derived class.
class Http2Stream {
public:
    explicit Http2Stream(Http2Session& session);
    Http2Stream(const Http2Stream&) = delete;
    virtual ~Http2Stream() = default;

    std::int32_t id() const { return id_; }
    bool closed() const { return closed_; }

protected:
    friend Http2Session;
    friend Http2Callbacks;

    // Incoming data. Called from within nghttp2: these functions never suspend, and start no handler.
    virtual void on_header(std::string name, std::string value) = 0;
    virtual void on_headers_end() = 0;
    virtual void on_data(std::string_view bytes) = 0;
    virtual void on_end() = 0;
    /// The last queued piece, or a head without a body, has been passed to the connection.
    virtual void on_sent() {}
    /// The stream has been removed from the connection; may destroy this object.
    virtual void on_close(Http2Error error) = 0;

    /// Queues a piece and waits while too much is queued. Error: Unavailable if the stream is closed.
    Task<> send(Bytes chunk);
    void queue(Bytes chunk);
    /// Nothing more will be queued.
    void end_sending(Headers trailers = {});
    void reset(Http2Error error);

    Http2Session& session_;

private:
    void resume();
    /// Drops what is queued, and wakes tasks that wait to queue more.
    void mark_closed();

    std::int32_t id_ = 0;
    std::deque<Bytes> outgoing_;
    std::size_t front_offset_ = 0;  ///< bytes of the front that are sent
    std::size_t queued_ = 0;        ///< bytes
    Headers trailers_;
    bool send_ended_ = false;
    bool deferred_ = false;  ///< nghttp2 waits for resume()
    bool closed_ = false;
    WaitList<void> room_;
    Deadline stalled_;
};

/// An HTTP/2 connection of either side, whose byte stream it owns: one task reads and feeds nghttp2, one sends nghttp2's output. Streams
/// are borrowed: the derived class or the request owns each.
class Http2Session {
public:
    enum class Role { Server, Client };

    Http2Session(EventLoop& loop, std::unique_ptr<ByteStream> stream, Role role, const HttpLimits& limits);
    virtual ~Http2Session();

    EventLoop& loop() const { return loop_; }
    const HttpLimits& limits() const { return limits_; }
    std::size_t open_streams() const { return streams_.size(); }
    /// Bytes of all streams that the peer has not read. On any thread.
    std::size_t queued() const { return queued_.bytes(); }

protected:
    friend Http2Stream;
    friend Http2Callbacks;

    /// A peer has begun a request; null refuses it.
    virtual Http2Stream* on_begin(std::int32_t id) = 0;
    /// The peer will accept no new requests.
    virtual void on_goaway() {}
    /// Called after a batch of input, to start the handlers of the requests in it.
    virtual void on_received() {}
    /// Called after a batch of output: the queues may have become shorter.
    virtual void on_written() {}

    /// Reads until the connection ends; returns the reason. The writer runs concurrently.
    Task<> communicate(std::string initial);
    /// After communicate(): lets the writer send the rest for at most `patience`, then ends it.
    Task<> stop_writing(Duration patience);
    void close_connection() { stream_->close(); }
    /// Ends every open stream, as if the peer had.
    void abandon_streams();
    void announce_end();

    void submit_response(Http2Stream& stream, int code, const Headers& headers, bool has_body);
    /// Error: Unavailable if the connection accepts no new streams.
    Result<void> submit_request(Http2Stream& stream, const Headers& headers, bool has_body);
    /// Received bytes have been processed: the peer may send as many again, on this stream and on others.
    void consume(const Http2Stream& stream, std::size_t bytes);
    /// The same, but for other streams only.
    void consume_connection(std::size_t bytes);
    /// From now on the peer may send a full window on the stream.
    void open_window(const Http2Stream& stream);
    std::uint32_t peer_stream_limit() const;
    void poke() { poked_.set(); }
    void drop_reference(Http2Stream& stream);  ///< the stream's object is destroyed before its stream

private:
    Task<> write_loop();
    bool is_used_up() const;
    void collect_output();
    Result<void> receive(std::string_view bytes);
    void quiet();
    void update_idle();

    EventLoop& loop_;
    std::unique_ptr<ByteStream> stream_;
    const Role role_;
    const HttpLimits limits_;
    nghttp2_session* nghttp2_ = nullptr;
    std::map<std::int32_t, Http2Stream*> streams_;
    AnswerBudget::Share queued_;
    std::string output_;
    std::array<char, 16 << 10> input_;
    bool stopping_ = false;  ///< the writer ends once nothing is left to send
    bool pinged_ = false;
    ChildTask writing_{loop_};
    Event poked_;
    Deadline write_deadline_{loop_, [this] { stream_->close(); }};
    Deadline quiet_deadline_{loop_, [this] { quiet(); }};
    Deadline idle_deadline_{loop_, [this] { announce_end(); }};
};

}  // namespace porthole::net
