#pragma once
#include "hns/hns.h"
#include "hns/hresult.h"

namespace porthole::hns::emulator {

/// For tests: forwards calls, and makes the one of a given number fail: before it is executed, or after it, so that only the answer is
/// lost. The change has then happened although the caller got an error.
class FailingHns final : public Hns {
public:
    enum class When { Before, After };

    explicit FailingHns(Hns& inner) : inner_(inner) {}

    /// From now on: forwards `passing` calls, and fails the next one with `code`.
    void fail_after(int passing, When when, Hresult code) {
        passing_ = passing;
        when_ = when;
        code_ = code;
        failed_ = false;
    }
    /// From now on every call fails with `code`, and is not executed.
    void fail_always(Hresult code) {
        fail_after(0, When::Before, code);
        always_ = true;
    }
    void stop_failing() {
        passing_ = -1;
        always_ = false;
    }
    /// Whether the call was reached.
    bool failed() const { return failed_; }

    Task<std::string> enumerate(ObjectKind kind, std::string query) override { return pass(inner_.enumerate(kind, std::move(query))); }
    Task<std::string> create(ObjectKind kind, std::string parent, std::string settings) override {
        return pass(inner_.create(kind, std::move(parent), std::move(settings)));
    }
    Task<std::string> query(ObjectKind kind, std::string id, std::string query) override {
        return pass(inner_.query(kind, std::move(id), std::move(query)));
    }
    Task<> modify(ObjectKind kind, std::string id, std::string settings) override {
        return pass(inner_.modify(kind, std::move(id), std::move(settings)));
    }
    Task<> remove(ObjectKind kind, std::string id) override { return pass(inner_.remove(kind, std::move(id))); }
    Task<std::string> call_v1(std::string method, std::string path, std::string body) override {
        return pass(inner_.call_v1(std::move(method), std::move(path), std::move(body)));
    }
    Task<> subscribe(std::function<void(const Notification&)> listener) override { return inner_.subscribe(std::move(listener)); }

private:
    /// A task starts only when it is awaited.
    template <class T>
    Task<T> pass(Task<T> call) {
        const bool fails = passing_ == 0;
        if (passing_ >= 0 && !always_) --passing_;
        failed_ = failed_ || fails;
        const auto code = code_;
        if (fails && when_ == When::Before) co_return hresult_error(code);
        auto result = co_await std::move(call);
        if (fails) co_return hresult_error(code);
        co_return result;
    }

    Hns& inner_;
    int passing_ = -1;
    When when_ = When::Before;
    Hresult code_ = Hresult::Unexpected;
    bool always_ = false;
    bool failed_ = false;
};

}  // namespace porthole::hns::emulator
