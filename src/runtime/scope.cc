#include "runtime/scope.h"

#include "base/result.h"

namespace porthole {

class Scope::Closing final : public Operation<void> {
public:
    explicit Closing(Scope& scope) : Operation(Uncancellable{}), scope_(scope) {}
    void all_ended() { complete_later({}); }

private:
    void start() override {
        CHECK(!scope_.closing_);
        if (scope_.tasks_.empty()) return complete({});
        scope_.closing_ = this;
        scope_.cancel();
    }
    void cancel() override {}
    Scope& scope_;
};

void Scope::spawn(Task<> task) {
    const Position position = tasks_.emplace(tasks_.end(), loop_);
    if (cancelled_) position->context.cancel();
    loop_.post([this, position, task = std::move(task)]() mutable {
        start_task(std::move(task), position->context, [this, position](Result<void> result) { finished(position, std::move(result)); });
    });
}

void Scope::cancel() {
    cancelled_ = true;
    for (Running& task : tasks_) task.context.cancel();  // suspensions end at later turns, so the list stays as it is
}

void Scope::finished(Position position, Result<void> result) {
    tasks_.erase(position);
    if (!result && !is_cancelled(result) && on_error_) on_error_(result.error());
    if (tasks_.empty() && closing_) std::exchange(closing_, nullptr)->all_ended();
}

Task<> Scope::close() {
    Closing closing(*this);
    co_return co_await closing;
}

}  // namespace porthole
