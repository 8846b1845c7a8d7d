#include "local_cluster/processes/progress_step.h"

namespace porthole::local_cluster {

Task<> step(ProgressReport& report, std::string name, Task<> work) {
    report.begin(name);
    auto done = co_await std::move(work);
    if (done)
        report.done(name);
    else if (!is_cancelled(done))
        report.failed(name, done.error().message);
    co_return done;
}

}  // namespace porthole::local_cluster
