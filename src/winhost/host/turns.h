#pragma once
#include <string>

#include "runtime/sync.h"

namespace porthole::winhost {

/// Lets one caller act at a time, in order of arrival, while a bounded number wait.
class Turns {
public:
    Turns(std::size_t most_waiting, std::string problem) : most_waiting_(most_waiting), problem_(std::move(problem)) {}

    /// Error: Unavailable with the problem while too many wait.
    Task<Semaphore::Permit> take() {
        if (waiting_ == most_waiting_) co_return Error(Reason::Unavailable, problem_);
        ++waiting_;
        auto permit = co_await turn_.acquire();
        --waiting_;
        co_return permit;
    }

private:
    std::size_t most_waiting_, waiting_ = 0;
    std::string problem_;
    Semaphore turn_{1};
};

}  // namespace porthole::winhost
