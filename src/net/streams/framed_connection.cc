#include "net/streams/framed_connection.h"

#include "base/result.h"

namespace porthole::net {
namespace {

constexpr std::size_t LargestBacklog = 128 << 10;          ///< bytes
constexpr auto LastOutputTime = std::chrono::seconds(30);  ///< for the peer to take what is left
constexpr auto EndPatience = std::chrono::seconds(2);      ///< after that, for the peer to end too

}  // namespace

void FramedConnection::start() {
    running_.start(run(), [self = shared_from_this()]() mutable {
        EventLoop& loop = self->loop_;
        loop.post([self = std::move(self)] {});  // the last reference must not go within its own task
    });
}

void FramedConnection::shut_down() {
    stream_->close();
    running_.cancel();
}

Task<> FramedConnection::run() {
    writing_.start(write_loop(), [this] {
        if (!ending_) stream_->close();
    });
    auto ended = co_await read_loop();
    over_ = true;
    on_over(ended.error());
    room_.wake_all({});
    if (is_cancelled(ended)) {
        writing_.cancel();
    } else {
        end_after_output();  // the peer may still read
    }
    auto joined = co_await writing_.join();
    stream_->close();
    end_deadline_.clear();
    co_return std::move(joined);
}

Task<> FramedConnection::read_loop() {
    for (;;) {
        while (!wants_input()) {
            input_wanted_.reset();
            CO_TRY_VOID(co_await input_wanted_.wait());
        }
        CO_TRY(const std::size_t count, co_await stream_->read(input_));
        if (count == 0) co_return Error(Reason::Unavailable, "connection closed by the peer");
        CO_TRY_VOID(on_bytes({input_.data(), count}));
    }
}

Task<> FramedConnection::write_loop() {
    for (;;) {
        while (!output_.empty()) {
            writing_now_.clear();
            std::swap(writing_now_, output_);
            room_.wake_all({});
            CO_TRY_VOID(co_await stream_->write(writing_now_));
        }
        if (ending_) {
            end_deadline_.set(EndPatience);
            co_return co_await stream_->end_writing();
        }
        output_added_.reset();
        CO_TRY_VOID(co_await output_added_.wait());
    }
}

Task<> FramedConnection::wait_for_room() {
    while (!over_ && output_.size() > LargestBacklog) CO_TRY_VOID(co_await room_.wait());
    if (over_) co_return Error(Reason::Unavailable, "connection closed");
    co_return {};
}

void FramedConnection::end_after_output() {
    if (std::exchange(ending_, true)) return;
    output_added_.set();
    end_deadline_.set(LastOutputTime);
}

}  // namespace porthole::net
