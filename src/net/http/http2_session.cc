#include "net/http/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>

namespace porthole::net {
namespace {

constexpr std::size_t LargestBacklog = 64 << 10;  ///< bytes queued on a stream before its sender waits
constexpr std::size_t FrameHeadSize = 9;
constexpr std::size_t LargestData = (16 << 10) - FrameHeadSize;  ///< bytes of a DATA frame: with its head, one record of TLS
constexpr std::size_t LargestBatch = 64 << 10;                   ///< bytes handed to the connection in one write
constexpr std::size_t MostQueuedFrames = 5000;                   ///< for a peer, without DATA
constexpr std::int32_t StreamWindow = 1 << 20;                   ///< bytes that a peer may send on a stream before they are taken
constexpr std::int32_t UnaskedWindow = 64 << 10;                 ///< the same for a client whose request's body nobody has asked for yet
constexpr std::int32_t ConnectionWindow = 4 << 20;

nghttp2_nv to_field(std::string_view name, std::string_view value) {
    const auto bytes = [](std::string_view text) { return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data())); };
    // An id of one request would push what requests have in common out of the peer's table.
    const std::uint8_t flags = name == "audit-id" ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
    return {bytes(name), bytes(value), name.size(), value.size(), flags};
}

/// HTTP/2 forbids the fields that speak of a connection (RFC 9113, section 8.2.2).
bool is_connection_field(std::string_view name) {
    return name == "connection" || name == "transfer-encoding" || name == "keep-alive" || name == "upgrade" || name == "proxy-connection";
}

/// Points into `headers`.
void append_fields(std::vector<nghttp2_nv>& fields, const Headers& headers) {
    for (const auto& [name, value] : headers.fields()) {
        if (!is_connection_field(name)) fields.push_back(to_field(name, value));
    }
}

}  // namespace

/// What nghttp2 calls.
struct Http2Callbacks {
    static Http2Stream* stream_of(nghttp2_session* session, std::int32_t id) {
        return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session, id));
    }

    static int begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
        if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
        auto& self = *static_cast<Http2Session*>(user);
        const std::int32_t id = frame->hd.stream_id;
        Http2Stream* stream = self.on_begin(id);
        if (!stream) return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
        stream->id_ = id;
        self.streams_[id] = stream;
        self.update_idle();
        return nghttp2_session_set_stream_user_data(session, id, stream);
    }

    static int header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t value_size, std::uint8_t, void*) {
        if (Http2Stream* stream = stream_of(session, frame->hd.stream_id)) {
            stream->on_header(std::string(reinterpret_cast<const char*>(name), name_size),
                              std::string(reinterpret_cast<const char*>(value), value_size));
        }
        return 0;
    }

    static int frame_received(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type == NGHTTP2_GOAWAY) static_cast<Http2Session*>(user)->on_goaway();
        if (frame->hd.type == NGHTTP2_HEADERS) {
            if (Http2Stream* stream = stream_of(session, frame->hd.stream_id)) stream->on_headers_end();
        }
        const bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
        if (may_end && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
            if (Http2Stream* stream = stream_of(session, frame->hd.stream_id)) stream->on_end();
        }
        return 0;
    }

    static int data(nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* bytes, std::size_t size, void*) {
        Http2Stream* stream = stream_of(session, id);
        if (stream) {
            stream->on_data({reinterpret_cast<const char*>(bytes), size});
        } else {
            nghttp2_session_consume_connection(session, size);
        }
        return 0;
    }

    static int stream_closed(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
        auto& self = *static_cast<Http2Session*>(user);
        const auto found = self.streams_.find(id);
        if (found == self.streams_.end()) return 0;
        Http2Stream* stream = found->second;
        self.streams_.erase(found);
        self.update_idle();
        stream->mark_closed();
        stream->on_close(static_cast<Http2Error>(code));
        return 0;
    }

    /// A request that never left: the server is ending the connection, for example.
    static int frame_not_sent(nghttp2_session* session, const nghttp2_frame* frame, int, void* user) {
        const bool is_request = frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
        if (is_request) stream_closed(session, frame->hd.stream_id, NGHTTP2_REFUSED_STREAM, user);
        return 0;
    }

    /// Says how much of a stream's queue goes into the next frame; send_data() then takes it.
    static ssize_t read_data(nghttp2_session* session, std::int32_t id, std::uint8_t*, std::size_t most, std::uint32_t* flags,
                             nghttp2_data_source*, void*) {
        Http2Stream* found = stream_of(session, id);
        if (!found) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // its owner has gone
        Http2Stream& stream = *found;
        const std::size_t count = std::min({most, stream.queued_, LargestData});
        if (count == 0 && !stream.send_ended_) {
            stream.deferred_ = true;
            return NGHTTP2_ERR_DEFERRED;
        }
        *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
        if (count < stream.queued_ || !stream.send_ended_) return static_cast<ssize_t>(count);
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (!stream.trailers_.fields().empty()) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            std::vector<nghttp2_nv> fields;
            append_fields(fields, stream.trailers_);
            nghttp2_submit_trailer(session, id, fields.data(), fields.size());
        }
        return static_cast<ssize_t>(count);
    }

    static int frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void*) {
        const bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
        if (may_end && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
            if (Http2Stream* stream = stream_of(session, frame->hd.stream_id)) stream->on_sent();
        }
        return 0;
    }

    static int send_data(nghttp2_session* session, nghttp2_frame* frame, const std::uint8_t* frame_head, std::size_t size,
                         nghttp2_data_source*, void* user) {
        std::string& output = static_cast<Http2Session*>(user)->output_;
        // nghttp2 would go on as far as the peer's windows allow, which may be gigabytes.
        if (output.size() >= LargestBatch) return NGHTTP2_ERR_WOULDBLOCK;
        Http2Stream* found = stream_of(session, frame->hd.stream_id);
        if (!found) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // its owner has gone since read_data()
        Http2Stream& stream = *found;
        output.append(reinterpret_cast<const char*>(frame_head), FrameHeadSize);
        stream.queued_ -= size;
        stream.session_.queued_.remove(size);
        if (stream.queued_ > 0) {
            stream.stalled_.set(stream.session_.limits_.write_time);
        } else {
            stream.stalled_.clear();
        }
        while (size > 0) {
            const std::string& front = *stream.outgoing_.front();
            const std::size_t count = std::min(size, front.size() - stream.front_offset_);
            output.append(front, stream.front_offset_, count);
            size -= count;
            stream.front_offset_ += count;
            if (stream.front_offset_ < front.size()) continue;
            stream.outgoing_.pop_front();
            stream.front_offset_ = 0;
        }
        if (stream.queued_ <= LargestBacklog / 2) stream.room_.wake_all({});
        return 0;
    }

    static nghttp2_session* make_session(Http2Session& self, Http2Session::Role role) {
        nghttp2_session_callbacks* callbacks = nullptr;
        nghttp2_session_callbacks_new(&callbacks);
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_received);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, stream_closed);
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frame_sent);
        nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, frame_not_sent);
        nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
        nghttp2_option* options = nullptr;
        nghttp2_option_new(&options);
        nghttp2_option_set_no_auto_window_update(options, 1);
        nghttp2_session* session = nullptr;
        const int failed = role == Http2Session::Role::Server ? nghttp2_session_server_new2(&session, callbacks, &self, options)
                                                              : nghttp2_session_client_new2(&session, callbacks, &self, options);
        nghttp2_option_del(options);
        nghttp2_session_callbacks_del(callbacks);
        CHECK(!failed);
        return session;
    }
};

Http2Stream::Http2Stream(Http2Session& session) : session_(session), stalled_(session.loop(), [this] { reset(Http2Error::Cancel); }) {}

void Http2Stream::mark_closed() {
    closed_ = true;
    stalled_.clear();
    outgoing_.clear();
    session_.queued_.remove(std::exchange(queued_, 0));
    room_.wake_all({});
}

void Http2Stream::queue(Bytes chunk) {
    if (closed_ || send_ended_ || chunk->empty()) return;
    if (queued_ == 0) stalled_.set(session_.limits_.write_time);
    queued_ += chunk->size();
    session_.queued_.add(chunk->size());
    outgoing_.push_back(std::move(chunk));
    resume();
}

Task<> Http2Stream::send(Bytes chunk) {
    queue(std::move(chunk));
    while (!closed_ && queued_ > LargestBacklog) CO_TRY_VOID(co_await room_.wait());
    if (closed_) co_return Error(Reason::Unavailable, "the peer ended the stream");
    co_return {};
}

void Http2Stream::end_sending(Headers trailers) {
    trailers_ = std::move(trailers);
    send_ended_ = true;
    resume();
}

void Http2Stream::reset(Http2Error error) {
    if (closed_ || id_ <= 0) return;
    nghttp2_submit_rst_stream(session_.nghttp2_, NGHTTP2_FLAG_NONE, id_, static_cast<std::uint32_t>(error));
    session_.poke();
}

void Http2Stream::resume() {
    if (closed_) return;
    if (std::exchange(deferred_, false)) nghttp2_session_resume_data(session_.nghttp2_, id_);
    session_.poke();
}

Http2Session::Http2Session(EventLoop& loop, std::unique_ptr<ByteStream> stream, Role role, const HttpLimits& limits)
    : loop_(loop),
      stream_(std::move(stream)),
      role_(role),
      limits_(limits),
      nghttp2_(Http2Callbacks::make_session(*this, role)),
      queued_(limits.answers, [this] { close_connection(); }) {
    std::vector<nghttp2_settings_entry> settings{
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(role == Role::Server ? UnaskedWindow : StreamWindow)},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.header_limit},
    };
    if (role == Role::Server) {
        settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.concurrent_streams});
    } else {
        settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
    }
    nghttp2_submit_settings(nghttp2_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
    nghttp2_session_set_local_window_size(nghttp2_, NGHTTP2_FLAG_NONE, 0, ConnectionWindow);
}

Http2Session::~Http2Session() { nghttp2_session_del(nghttp2_); }

Task<> Http2Session::communicate(std::string initial) {
    update_idle();
    quiet_deadline_.set(limits_.ping_time);
    writing_.start(write_loop(), [this] { stream_->close(); });
    if (!initial.empty()) CO_TRY_VOID(receive(initial));
    while (nghttp2_session_want_read(nghttp2_) || nghttp2_session_want_write(nghttp2_)) {
        CO_TRY(const std::size_t count, co_await stream_->read(input_));
        if (count == 0) co_return Error(Reason::Unavailable, "connection closed by the peer");
        CO_TRY_VOID(receive({input_.data(), count}));
    }
    co_return Error(Reason::Unavailable, "connection ended");
}

Result<void> Http2Session::receive(std::string_view bytes) {
    pinged_ = false;
    quiet_deadline_.set(limits_.ping_time);
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    const ssize_t taken = nghttp2_session_mem_recv(nghttp2_, data, bytes.size());
    if (taken < 0) {
        return Error(Reason::Unavailable, std::string("HTTP/2: ") + nghttp2_strerror(static_cast<int>(taken)));
    }
    // A peer that reads nothing has a reset queued for each 9 bytes that it sends. Newer versions of nghttp2 have a limit of their own.
    if (nghttp2_session_get_outbound_queue_size(nghttp2_) > MostQueuedFrames)
        return Error(Reason::Unavailable, "HTTP/2: too many frames that the peer has not read");
    if (is_used_up()) return Error(Reason::Unavailable, "HTTP/2: the server takes no more requests on this connection");
    on_received();
    poke();
    return {};
}

/// Of a client: no request is in progress, and none can be begun. Its users take another connection then, and no longer know of this one.
bool Http2Session::is_used_up() const {
    return role_ == Role::Client && streams_.empty() && (peer_stream_limit() == 0 || !nghttp2_session_check_request_allowed(nghttp2_));
}

void Http2Session::collect_output() {
    output_.clear();
    while (output_.size() < LargestBatch) {
        const std::uint8_t* bytes = nullptr;
        const ssize_t count = nghttp2_session_mem_send(nghttp2_, &bytes);
        if (count <= 0) break;
        output_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
    }
}

Task<> Http2Session::write_loop() {
    for (;;) {
        collect_output();
        if (output_.empty()) {
            const bool over = !nghttp2_session_want_read(nghttp2_) && !nghttp2_session_want_write(nghttp2_);
            if (stopping_ || over) break;
            poked_.reset();
            CO_TRY_VOID(co_await poked_.wait());
            continue;
        }
        write_deadline_.set(limits_.write_time);
        CO_TRY_VOID(co_await stream_->write(output_));
        write_deadline_.clear();
        on_written();
    }
    co_return co_await stream_->end_writing();
}

Task<> Http2Session::stop_writing(Duration patience) {
    stopping_ = true;
    poke();
    write_deadline_.set(patience);
    if (patience == Duration::zero()) writing_.cancel();
    co_return co_await writing_.join();
}

void Http2Session::abandon_streams() {
    while (!streams_.empty()) {
        Http2Stream* stream = streams_.begin()->second;
        streams_.erase(streams_.begin());
        nghttp2_session_set_stream_user_data(nghttp2_, stream->id_, nullptr);
        stream->mark_closed();
        stream->on_close(Http2Error::Cancel);
    }
}

void Http2Session::drop_reference(Http2Stream& stream) {
    streams_.erase(stream.id_);
    stream.mark_closed();
    nghttp2_session_set_stream_user_data(nghttp2_, stream.id_, nullptr);
    update_idle();
}

void Http2Session::announce_end() {
    nghttp2_submit_goaway(nghttp2_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(nghttp2_), NGHTTP2_NO_ERROR, nullptr, 0);
    poke();
}

/// Nothing has come for a while: ask for a sign of life if someone waits for an answer, give up if none came.
void Http2Session::quiet() {
    if (pinged_ || is_used_up()) return stream_->close();
    if (!streams_.empty()) {
        pinged_ = true;
        nghttp2_submit_ping(nghttp2_, NGHTTP2_FLAG_NONE, nullptr);
        poke();
    }
    quiet_deadline_.set(limits_.ping_time);
}

void Http2Session::update_idle() {
    if (role_ == Role::Client) return;
    if (streams_.empty()) {
        idle_deadline_.set(limits_.idle_time);
    } else {
        idle_deadline_.clear();
    }
}

void Http2Session::submit_response(Http2Stream& stream, int code, const Headers& headers, bool has_body) {
    const std::string status = std::to_string(code);
    std::vector<nghttp2_nv> fields{to_field(":status", status)};
    append_fields(fields, headers);
    nghttp2_data_provider provider{{}, Http2Callbacks::read_data};
    nghttp2_submit_response(nghttp2_, stream.id_, fields.data(), fields.size(), has_body ? &provider : nullptr);
    poke();
}

Result<void> Http2Session::submit_request(Http2Stream& stream, const Headers& headers, bool has_body) {
    std::vector<nghttp2_nv> fields;
    append_fields(fields, headers);
    nghttp2_data_provider provider{{}, Http2Callbacks::read_data};
    const std::int32_t id =
        nghttp2_submit_request(nghttp2_, nullptr, fields.data(), fields.size(), has_body ? &provider : nullptr, &stream);
    if (id < 0) return Error(Reason::Unavailable, std::string("HTTP/2: ") + nghttp2_strerror(id));
    stream.id_ = id;
    streams_[id] = &stream;
    poke();
    return {};
}

void Http2Session::consume(const Http2Stream& stream, std::size_t bytes) {
    if (stream.closed_) return consume_connection(bytes);
    nghttp2_session_consume(nghttp2_, stream.id_, bytes);
    poke();
}

void Http2Session::consume_connection(std::size_t bytes) {
    nghttp2_session_consume_connection(nghttp2_, bytes);
    poke();
}

void Http2Session::open_window(const Http2Stream& stream) {
    nghttp2_session_set_local_window_size(nghttp2_, NGHTTP2_FLAG_NONE, stream.id_, StreamWindow);
    poke();
}

std::uint32_t Http2Session::peer_stream_limit() const {
    return nghttp2_session_get_remote_settings(nghttp2_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

}  // namespace porthole::net
