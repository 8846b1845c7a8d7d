#include "runtime/asio_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <map>
#include <optional>
#include <utility>

namespace porthole {

namespace asio = boost::asio;

/// All timers share one Asio timer, set to the earliest: arming and forgetting a timer is then a map operation only.
struct AsioLoop::Impl {
    // Before the context: callbacks that never ran are destroyed with it, and what they own may forget its timers then.
    std::map<std::pair<MonotonicTime, std::uint64_t>, Callback> timers;
    std::map<std::uint64_t, MonotonicTime> times;
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
    asio::steady_timer timer{context};
    std::optional<asio::signal_set> signals;
    std::function<void(int)> signal_handler;
    std::optional<asio::signal_set> hangups;
    std::function<void()> hangup_handler;
    std::uint64_t next_id = 1;
    std::optional<MonotonicTime> armed;

    ~Impl() { std::exchange(timers, {}); }

    void arm() {
        if (timers.empty()) return;
        const MonotonicTime first = timers.begin()->first.first;
        if (armed && *armed <= first) return;
        armed = first;
        timer.expires_at(first);
        timer.async_wait([this, first](boost::system::error_code error) {
            if (error || armed != first) return;
            armed.reset();
            fire();
            arm();
        });
    }

    /// One at a time, since a callback may cancel the next.
    void fire() {
        const MonotonicTime now = std::chrono::steady_clock::now();
        while (!timers.empty() && timers.begin()->first.first <= now) {
            Callback callback = std::move(timers.begin()->second);
            times.erase(timers.begin()->first.second);
            timers.erase(timers.begin());
            callback();
        }
    }

    void wait_signal() {
        signals->async_wait([this](boost::system::error_code error, int signal) {
            if (error) return;
            signal_handler(signal);
            wait_signal();
        });
    }

    void wait_hangup() {
        hangups->async_wait([this](boost::system::error_code error, int) {
            if (error) return;
            hangup_handler();
            wait_hangup();
        });
    }
};

AsioLoop::AsioLoop() : impl_(std::make_unique<Impl>()) {}
AsioLoop::~AsioLoop() = default;

void AsioLoop::post(Callback callback) { asio::post(impl_->context, std::move(callback)); }

TimerId AsioLoop::call_at(MonotonicTime when, Callback callback) {
    const std::uint64_t id = impl_->next_id++;
    impl_->timers.emplace(std::pair(when, id), std::move(callback));
    impl_->times.emplace(id, when);
    impl_->arm();
    return TimerId{id};
}

void AsioLoop::cancel_timer(TimerId timer) {
    const auto found = impl_->times.find(static_cast<std::uint64_t>(timer));
    if (found == impl_->times.end()) return;
    impl_->timers.erase({found->second, found->first});
    impl_->times.erase(found);
}

MonotonicTime AsioLoop::now() const { return std::chrono::steady_clock::now(); }
SystemTime AsioLoop::wall_now() const { return std::chrono::system_clock::now(); }
void AsioLoop::run() {
    impl_->context.restart();  // a loop that was stopped may be run again
    impl_->context.run();
}
void AsioLoop::stop() { impl_->context.stop(); }
asio::io_context& AsioLoop::context() { return impl_->context; }

void AsioLoop::on_signal(std::function<void(int)> handler) {
    impl_->signal_handler = std::move(handler);
    if (impl_->signals) return;
    impl_->signals.emplace(impl_->context, SIGINT, SIGTERM);
    impl_->wait_signal();
}

void AsioLoop::on_hangup([[maybe_unused]] std::function<void()> handler) {
#ifdef SIGHUP
    impl_->hangup_handler = std::move(handler);
    impl_->hangups.emplace(impl_->context, SIGHUP);
    impl_->wait_hangup();
#endif
}

}  // namespace porthole
