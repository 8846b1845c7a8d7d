#pragma once
#include <string>

#include "base/progress_report.h"
#include "runtime/task.h"

namespace porthole::provision {

/// Reports the step. That it fails is not an error of the caller: false. Error: Cancelled, without an end of the step.
inline Task<bool> reported_step(ProgressReport& report, std::string name, Task<> work) {
    report.begin(name);
    const auto done = co_await std::move(work);
    if (is_cancelled(done)) co_return done.error();
    if (done)
        report.done(name);
    else
        report.failed(name, done.error().message);
    co_return done.has_value();
}

/// What a run ends with whose step has failed and been reported.
inline Error failed_step(const std::string& name) {
    return Error(Reason::Io, "failed: " + name + "; what comes after it was not done, fix the cause and run it again");
}

}  // namespace porthole::provision
