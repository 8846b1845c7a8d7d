#include "net/streams/spdy.h"

#include <algorithm>
#include <deque>
#include <map>

#include "net/streams/framed_connection.h"
#include "net/streams/spdy_headers.h"

namespace porthole::net {
namespace {

enum class FrameType : std::uint16_t {
    SynStream = 1,
    SynReply = 2,
    RstStream = 3,
    Settings = 4,
    Ping = 6,
    GoAway = 7,
    Headers = 8,
    WindowUpdate = 9,
};

enum class StreamError : std::uint32_t { Protocol = 1, Refused = 3, Cancel = 5 };

constexpr std::uint8_t FlagEnd = 1;
constexpr std::uint8_t FlagOneWay = 2;
constexpr std::size_t FrameHeadSize = 8;
constexpr std::uint16_t Version = 3;
constexpr std::size_t LargestControlFrame = 64 << 10;
constexpr std::size_t LargestDataFrame = 16 << 10;    ///< of ours
constexpr std::size_t LargestSpdyInbox = 1 << 20;     ///< bytes of all streams before reading stops
constexpr std::size_t LargestReplyBacklog = 1 << 20;  ///< bytes of answers to a peer that does not read
constexpr std::size_t MostStreams = 1000;

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t i = at; i < at + 4; ++i) number = number << 8 | static_cast<unsigned char>(bytes[i]);
    return number;
}

std::string to_bytes(std::uint32_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
    return bytes;
}

std::string size_and_flags(std::uint8_t flags, std::size_t size) { return to_bytes(static_cast<std::uint32_t>(flags << 24 | size)); }

std::string control_frame(FrameType type, std::uint8_t flags, std::string_view payload) {
    constexpr std::uint32_t ControlBit = 1u << 31;
    return to_bytes(ControlBit | Version << 16 | static_cast<std::uint32_t>(type)) + size_and_flags(flags, payload.size()) +
           std::string(payload);
}

Error malformed(const char* what) { return Error(Reason::Unavailable, std::string("SPDY: ") + what); }

/// A stream's state, shared by its session and its handle.
struct StreamState {
    std::uint32_t id = 0;
    Headers headers;
    std::string inbox;
    bool peer_ended = false, we_ended = false, broken = false;
    WaitList<void> readers;
};
using StreamPointer = std::shared_ptr<StreamState>;

class SpdyConnection final : public FramedConnection {
public:
    SpdyConnection(EventLoop& loop, std::unique_ptr<ByteStream> stream, SpdySession::Role role)
        : FramedConnection(loop, std::move(stream)), next_id_(role == SpdySession::Role::Client ? 1 : 2) {}

    using Self = std::shared_ptr<SpdyConnection>;

    static Task<StreamPointer> accept(Self self) {
        while (self->opened_.empty() && !self->over()) {
            self->changed_.reset();
            CO_TRY_VOID(co_await self->changed_.wait());
        }
        if (self->opened_.empty()) co_return StreamPointer();
        StreamPointer stream = std::move(self->opened_.front());
        self->opened_.pop_front();
        co_return stream;
    }

    static Task<StreamPointer> open(Self self, Headers headers) {
        if (self->over() || self->closing_ || self->peer_leaves_) co_return malformed("session over");
        auto stream = std::make_shared<StreamState>();
        stream->id = std::exchange(self->next_id_, self->next_id_ + 2);
        stream->headers = std::move(headers);
        self->streams_[stream->id] = stream;
        const std::string payload = to_bytes(stream->id) + to_bytes(0) + std::string(2, '\0') + self->packer_.write(stream->headers);
        self->add_output(control_frame(FrameType::SynStream, 0, payload));
        CO_TRY_VOID(co_await self->wait_for_room());
        co_return stream;
    }

    static Task<std::size_t> read(Self self, StreamPointer stream, std::span<char> buffer) {
        while (stream->inbox.empty() && !stream->peer_ended && !stream->broken) CO_TRY_VOID(co_await stream->readers.wait());
        if (stream->inbox.empty() && !stream->peer_ended) co_return malformed("stream reset");
        const std::size_t count = std::min(buffer.size(), stream->inbox.size());
        std::copy_n(stream->inbox.begin(), count, buffer.begin());
        stream->inbox.erase(0, count);
        self->inbox_size_ -= count;
        self->input_wanted();
        co_return count;
    }

    static Task<> write(Self self, StreamPointer stream, std::string_view bytes) {
        while (!bytes.empty()) {
            if (stream->broken || stream->we_ended || self->over()) co_return malformed("stream closed");
            const std::string_view piece = bytes.substr(0, LargestDataFrame);
            self->add_data(*stream, piece, 0);
            bytes.remove_prefix(piece.size());
            CO_TRY_VOID(co_await self->wait_for_room());
        }
        co_return {};
    }

    static Task<> end(Self self, StreamPointer stream) {
        if (!std::exchange(stream->we_ended, true) && !stream->broken) self->add_data(*stream, "", FlagEnd);
        self->forget_if_done(*stream);
        co_return {};
    }

    /// Its handle has gone, or closes it.
    void drop(StreamState& stream) {
        inbox_size_ -= stream.inbox.size();
        stream.inbox.clear();
        input_wanted();
        if (!stream.we_ended && !stream.broken && !over()) reset(stream.id, StreamError::Cancel);
        fail(stream);
        streams_.erase(stream.id);
    }

    void close() {
        if (std::exchange(closing_, true) || over()) return;
        add_output(control_frame(FrameType::GoAway, 0, to_bytes(last_peer_id_) + to_bytes(0)));
        end_after_output();
    }

    static Task<> wait_over(Self self) {
        while (!self->over()) CO_TRY_VOID(co_await self->ended_.wait());
        co_return {};
    }

private:
    void add_data(const StreamState& stream, std::string_view bytes, std::uint8_t flags) {
        add_output(to_bytes(stream.id) + size_and_flags(flags, bytes.size()));
        add_output(bytes);
    }
    void reset(std::uint32_t id, StreamError error) {
        add_output(control_frame(FrameType::RstStream, 0, to_bytes(id) + to_bytes(static_cast<std::uint32_t>(error))));
    }
    void fail(StreamState& stream) {
        stream.broken = true;
        stream.readers.wake_all({});
    }
    void forget_if_done(const StreamState& stream) {
        if (stream.we_ended && stream.peer_ended) streams_.erase(stream.id);
    }
    void peer_ended(StreamState& stream) {
        stream.peer_ended = true;
        stream.readers.wake_all({});
        forget_if_done(stream);
    }
    StreamPointer find(std::uint32_t id) const {
        const auto found = streams_.find(id);
        return found == streams_.end() ? nullptr : found->second;
    }

    bool wants_input() const override { return inbox_size_ < LargestSpdyInbox; }
    void on_over(const Error&) override {
        for (auto& [id, stream] : streams_) fail(*stream);
        streams_.clear();
        changed_.set();
        ended_.set();
    }

    Result<void> on_bytes(std::string_view bytes) override {
        while (!bytes.empty()) {
            if (data_left_ > 0) {
                take_data(bytes);
                continue;
            }
            const std::size_t wanted = frame_.size() < FrameHeadSize ? FrameHeadSize : FrameHeadSize + payload_size();
            const std::size_t count = std::min(bytes.size(), wanted - frame_.size());
            frame_.append(bytes.substr(0, count));
            bytes.remove_prefix(count);
            if (frame_.size() == FrameHeadSize) TRY_VOID(begin_frame());
            if (frame_.size() < FrameHeadSize || frame_.size() < FrameHeadSize + payload_size()) continue;
            const std::string frame = std::exchange(frame_, {});
            TRY_VOID(take_control(frame));
        }
        return {};
    }

    std::size_t payload_size() const { return number_at(frame_, 4) & 0xffffff; }

    /// A head is complete. A data frame's payload is passed on as it arrives, a control frame's is collected.
    Result<void> begin_frame() {
        if (static_cast<unsigned char>(frame_[0]) & 0x80) {
            if ((number_at(frame_, 0) >> 16 & 0x7fff) != Version) return malformed("wrong version");
            if (payload_size() > LargestControlFrame) return malformed("control frame too large");
            return {};
        }
        data_stream_ = find(number_at(frame_, 0));
        data_left_ = payload_size();
        data_ends_ = static_cast<std::uint8_t>(frame_[4]) & FlagEnd;
        frame_.clear();
        if (data_left_ == 0) finish_data();
        return {};
    }

    void take_data(std::string_view& bytes) {
        const std::string_view piece = bytes.substr(0, data_left_);
        bytes.remove_prefix(piece.size());
        data_left_ -= piece.size();
        if (data_stream_ && !data_stream_->peer_ended && !data_stream_->broken) {
            data_stream_->inbox.append(piece);
            inbox_size_ += piece.size();
            data_stream_->readers.wake_all({});
        }
        if (data_left_ == 0) finish_data();
    }

    void finish_data() {
        if (data_stream_ && data_ends_) peer_ended(*data_stream_);
        data_stream_.reset();
    }

    Result<void> take_control(std::string_view frame) {
        const auto type = static_cast<FrameType>(number_at(frame, 0) & 0xffff);
        const auto flags = static_cast<std::uint8_t>(frame[4]);
        const std::string_view payload = frame.substr(FrameHeadSize);
        switch (type) {
            case FrameType::SynStream:
                return take_syn_stream(flags, payload);
            case FrameType::SynReply:
            case FrameType::Headers:
                return take_headers(flags, payload);
            case FrameType::RstStream:
                return take_reset(payload);
            case FrameType::Ping:
                return take_ping(frame, payload);
            case FrameType::GoAway:
                peer_leaves_ = true;
                return {};
            default:
                return {};  // settings and windows bind nobody here; unknown frames are skipped
        }
    }

    Result<void> take_syn_stream(std::uint8_t flags, std::string_view payload) {
        constexpr std::size_t FixedPart = 10;
        if (payload.size() < FixedPart) return malformed("frame cut off");
        const std::uint32_t id = number_at(payload, 0) & 0x7fffffff;
        TRY(Headers headers, unpacker_.read(payload.substr(FixedPart)));
        if (id == 0 || id % 2 == next_id_ % 2 || id <= last_peer_id_) return malformed("bad stream number");
        last_peer_id_ = id;
        // Each stream is answered: a peer that opens and resets them without reading the answers would have them pile up.
        if (backlog() > LargestReplyBacklog) return malformed("too many streams");
        if (streams_.size() >= MostStreams || opened_.size() >= MostStreams || closing_) {
            reset(id, StreamError::Refused);
            return {};
        }
        auto stream = std::make_shared<StreamState>();
        stream->id = id;
        stream->headers = std::move(headers);
        stream->we_ended = flags & FlagOneWay;
        streams_[id] = stream;
        opened_.push_back(stream);
        add_output(control_frame(FrameType::SynReply, 0, to_bytes(id) + packer_.write({})));
        if (flags & FlagEnd) peer_ended(*stream);
        changed_.set();
        return {};
    }

    Result<void> take_headers(std::uint8_t flags, std::string_view payload) {
        if (payload.size() < 4) return malformed("frame cut off");
        TRY_VOID(unpacker_.read(payload.substr(4)));  // nobody asks for them, but the packing depends on each block
        const StreamPointer stream = find(number_at(payload, 0) & 0x7fffffff);
        if (stream && (flags & FlagEnd)) peer_ended(*stream);
        return {};
    }

    Result<void> take_reset(std::string_view payload) {
        if (payload.size() < 8) return malformed("frame cut off");
        if (const StreamPointer stream = find(number_at(payload, 0) & 0x7fffffff)) {
            fail(*stream);
            streams_.erase(stream->id);
        }
        return {};
    }

    /// Pings of the peer's parity are echoed; others would be answers, and we ask for none.
    Result<void> take_ping(std::string_view frame, std::string_view payload) {
        if (payload.size() != 4) return malformed("bad ping");
        if (number_at(payload, 0) % 2 == next_id_ % 2) return {};
        if (backlog() > LargestReplyBacklog) return malformed("too many pings");
        add_output(frame);
        return {};
    }

    std::uint32_t next_id_;
    std::uint32_t last_peer_id_ = 0;
    std::map<std::uint32_t, StreamPointer> streams_;
    std::deque<StreamPointer> opened_;
    std::size_t inbox_size_ = 0;
    std::string frame_;  ///< what has come of a control frame or of any head
    StreamPointer data_stream_;
    std::size_t data_left_ = 0;
    bool data_ends_ = false, closing_ = false, peer_leaves_ = false;
    SpdyHeaderWriter packer_;
    SpdyHeaderReader unpacker_;
    Event changed_, ended_;
};

class StreamHandle final : public SpdyStream {
public:
    StreamHandle(std::shared_ptr<SpdyConnection> connection, StreamPointer stream)
        : connection_(std::move(connection)), stream_(std::move(stream)) {}
    ~StreamHandle() override { connection_->drop(*stream_); }

    std::uint32_t id() const override { return stream_->id; }
    const Headers& headers() const override { return stream_->headers; }
    Task<std::size_t> read(std::span<char> buffer) override { return SpdyConnection::read(connection_, stream_, buffer); }
    Task<> write(std::string_view bytes) override { return SpdyConnection::write(connection_, stream_, bytes); }
    Task<> end_writing() override { return SpdyConnection::end(connection_, stream_); }
    void close() override { connection_->drop(*stream_); }

private:
    std::shared_ptr<SpdyConnection> connection_;
    StreamPointer stream_;
};

class SessionHandle final : public SpdySession {
public:
    explicit SessionHandle(std::shared_ptr<SpdyConnection> connection) : connection_(std::move(connection)) {}
    ~SessionHandle() override {
        if (!closing_) connection_->shut_down();
    }
    Task<std::optional<std::unique_ptr<SpdyStream>>> accept() override { return accept_on(connection_); }
    Task<std::unique_ptr<SpdyStream>> open(Headers headers) override { return open_on(connection_, std::move(headers)); }
    void close() override {
        closing_ = true;
        connection_->close();
    }
    Task<> wait_over() override { return SpdyConnection::wait_over(connection_); }

private:
    static Task<std::optional<std::unique_ptr<SpdyStream>>> accept_on(std::shared_ptr<SpdyConnection> connection) {
        CO_TRY(auto stream, co_await SpdyConnection::accept(connection));
        if (!stream) co_return std::optional<std::unique_ptr<SpdyStream>>();
        co_return std::make_unique<StreamHandle>(std::move(connection), std::move(stream));
    }
    static Task<std::unique_ptr<SpdyStream>> open_on(std::shared_ptr<SpdyConnection> connection, Headers headers) {
        CO_TRY(auto stream, co_await SpdyConnection::open(connection, std::move(headers)));
        co_return std::make_unique<StreamHandle>(std::move(connection), std::move(stream));
    }
    std::shared_ptr<SpdyConnection> connection_;
    bool closing_ = false;
};

}  // namespace

std::unique_ptr<SpdySession> SpdySession::over(EventLoop& loop, std::unique_ptr<ByteStream> connection, Role role) {
    auto session = std::make_shared<SpdyConnection>(loop, std::move(connection), role);
    session->start();
    return std::make_unique<SessionHandle>(std::move(session));
}

}  // namespace porthole::net
