#include "runtime/worker_pool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace porthole {

/// Asks the system to let the calling thread on as soon as it wakes, and for less time at a stretch: for threads that sleep
/// most of the time and are waited for. Its share of the processors stays the same. Has no effect where the system cannot do it.
/// In worker_pool_linux.cc and worker_pool_windows.cc.
void take_short_turns();

namespace {

class ThreadPool final : public WorkerPool {
public:
    explicit ThreadPool(std::size_t limit) : limit_(limit) {}
    ~ThreadPool() override {
        {
            std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    void submit(Callback work) override {
        std::lock_guard lock(mutex_);
        queue_.push_back(std::move(work));
        if (idle_ < queue_.size() && threads_.size() < limit_) {
            threads_.emplace_back([this] { run(); });
        }
        wake_.notify_one();
    }

private:
    void run() {
        take_short_turns();  // a loop's next step waits for each result
        std::unique_lock lock(mutex_);
        for (;;) {
            ++idle_;
            wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
            --idle_;
            if (queue_.empty()) return;
            Callback work = std::move(queue_.front());
            queue_.pop_front();
            lock.unlock();
            work();
            work = nullptr;
            lock.lock();
        }
    }

    const std::size_t limit_;
    std::mutex mutex_;  // guards all below
    std::condition_variable wake_;
    std::deque<Callback> queue_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0;
    bool stopping_ = false;
};

}  // namespace

std::unique_ptr<WorkerPool> make_thread_pool(std::size_t threads) { return std::make_unique<ThreadPool>(threads); }

}  // namespace porthole
