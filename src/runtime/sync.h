#pragma once
#include <deque>
#include <list>
#include <optional>

#include "runtime/task.h"

namespace porthole {

/// Waiting tasks, in order of arrival. The primitives below use it; all live on one loop, must outlive their waiters, and wake them in a
/// later turn, never inside the call that wakes. Every wait may fail with Cancelled.
template <class T>
class WaitList {
public:
    WaitList() = default;
    WaitList(const WaitList&) = delete;

    class Wait final : public Operation<T> {
    public:
        explicit Wait(WaitList& list) : list_(list) {}

    private:
        friend WaitList;
        void start() override { position_ = list_.waits_.insert(list_.waits_.end(), this); }
        void cancel() override {
            if (woken_) return;
            woken_ = true;
            list_.waits_.erase(position_);
            this->complete_later(cancelled_error());
        }
        WaitList& list_;
        typename std::list<Wait*>::iterator position_;
        bool woken_ = false;
    };

    bool empty() const { return waits_.empty(); }
    /// Requires: !empty().
    void wake_first(Result<T> result) {
        Wait* wait = waits_.front();
        waits_.pop_front();
        wait->woken_ = true;
        wait->complete_later(std::move(result));
    }
    void wake_all(const Result<T>& result) {
        while (!empty()) wake_first(result);
    }
    Task<T> wait() {
        Wait wait(*this);
        co_return co_await wait;
    }

private:
    std::list<Wait*> waits_;
};

/// A flag that tasks can wait for; stays set until reset().
class Event {
public:
    void set() {
        set_ = true;
        waits_.wake_all({});
    }
    void reset() { set_ = false; }
    bool is_set() const { return set_; }
    Task<> wait() {
        if (!set_) CO_TRY_VOID(co_await waits_.wait());
        co_return {};
    }

private:
    WaitList<void> waits_;
    bool set_ = false;
};

/// A value or error that is set once, for one or more waiters, each of which gets a copy. Aborts if set twice.
template <class T>
class Promise {
public:
    void set(Result<T> result) {
        CHECK(!result_);
        result_.emplace(std::move(result));
        waits_.wake_all({});
    }
    bool is_set() const { return result_.has_value(); }
    Task<T> wait() {
        if (!result_) CO_TRY_VOID(co_await waits_.wait());
        co_return *result_;
    }

private:
    WaitList<void> waits_;
    std::optional<Result<T>> result_;
};

/// An unbounded queue between tasks. After close() the queued items are still delivered, then nullopt.
template <class T>
class Channel {
public:
    void push(T item) {
        if (closed_) return;
        items_.push_back(std::move(item));
        if (!waits_.empty()) waits_.wake_first({});
    }
    void close() {
        closed_ = true;
        waits_.wake_all({});
    }
    bool closed() const { return closed_; }
    std::size_t size() const { return items_.size(); }
    Task<std::optional<T>> next() {
        while (items_.empty() && !closed_) CO_TRY_VOID(co_await waits_.wait());
        if (items_.empty()) co_return std::optional<T>();
        std::optional<T> item(std::move(items_.front()));
        items_.pop_front();
        co_return std::move(item);
    }

private:
    WaitList<void> waits_;
    std::deque<T> items_;
    bool closed_ = false;
};

/// At most `permits` holders at a time, in order of asking. Must outlive its permits.
class Semaphore {
public:
    explicit Semaphore(std::size_t permits) : free_(permits) {}

    /// Releases its permit when destroyed.
    class Permit {
    public:
        Permit() = default;
        explicit Permit(Semaphore* owner) : owner_(owner) {}
        Permit(Permit&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
        Permit& operator=(Permit&& other) noexcept {
            std::swap(owner_, other.owner_);
            return *this;
        }
        ~Permit() {
            if (owner_) owner_->release();
        }

    private:
        Semaphore* owner_ = nullptr;
    };

    Task<Permit> acquire() {
        while (free_ == 0) CO_TRY_VOID(co_await waits_.wait());
        --free_;
        co_return Permit(this);
    }

private:
    void release() {
        ++free_;
        if (!waits_.empty()) waits_.wake_first({});
    }
    WaitList<void> waits_;
    std::size_t free_;
};

}  // namespace porthole
