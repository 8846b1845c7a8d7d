#pragma once  // private to this folder
#include <array>

#include "net/byte_stream.h"
#include "net/child_task.h"

namespace porthole::net {

/// A connection that carries frames of some protocol: one task reads and passes the bytes on, one writes the queued output.
///
/// Owns the stream. Its tasks keep it alive until both have ended, so its user may be destroyed at any time: shut_down() ends them in later
/// turns of the loop. Only its own task writes, so a cancelled user never truncates a frame.
class FramedConnection : public std::enable_shared_from_this<FramedConnection> {
public:
    virtual ~FramedConnection() = default;

    void start();
    /// Drops the connection.
    void shut_down();
    bool over() const { return over_; }
    EventLoop& loop() const { return loop_; }

protected:
    FramedConnection(EventLoop& loop, std::unique_ptr<ByteStream> stream) : loop_(loop), stream_(std::move(stream)) {}

    /// An error ends the connection, after the queued output is sent.
    virtual Result<void> on_bytes(std::string_view bytes) = 0;
    /// Called once, when the connection has ended.
    virtual void on_over(const Error& why) = 0;
    /// False stops reading until input_wanted() is called.
    virtual bool wants_input() const = 0;

    void input_wanted() { input_wanted_.set(); }
    void add_output(std::string_view bytes) {
        output_.append(bytes);
        output_added_.set();
    }
    /// Bytes queued and not yet passed to the writer.
    std::size_t backlog() const { return output_.size(); }
    /// Waits while too much is queued. Error: Unavailable if the connection has ended.
    Task<> wait_for_room();
    /// Ends our direction once all queued output is sent, and the connection when the peer does the same or after a while.
    void end_after_output();

private:
    Task<> run();
    Task<> read_loop();
    Task<> write_loop();

    EventLoop& loop_;
    std::unique_ptr<ByteStream> stream_;
    std::string output_, writing_now_;
    std::array<char, 16 << 10> input_;
    bool over_ = false, ending_ = false;
    ChildTask running_{loop_}, writing_{loop_};
    Event input_wanted_, output_added_;
    WaitList<void> room_;
    Deadline end_deadline_{loop_, [this] { stream_->close(); }};
};

}  // namespace porthole::net
