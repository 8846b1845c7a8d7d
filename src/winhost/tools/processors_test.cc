#include "winhost/tools/processors.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <functional>

namespace porthole::winhost {
namespace {

/// A process that waits for its end.
class Waiting {
public:
    Waiting() : pid_(::fork()) {
        if (pid_ != 0) return;
        for (;;) ::pause();
    }
    ~Waiting() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    pid_t pid() const { return pid_; }
    int processors() const {
        cpu_set_t set;
        return ::sched_getaffinity(pid_, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
    }

private:
    pid_t pid_;
};

/// What `work` says in a process that may use the first processor only.
bool said_on_one_processor(const std::function<bool()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(0, &one);
        ::_exit(::sched_setaffinity(0, sizeof one, &one) == 0 && work() ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Processors, AProcessIsKeptOnOneAndGetsAllBack) {
    const Processors processors;
    if (!processors.can_choose()) GTEST_SKIP() << "needs a machine with several processors, all of them for this program";
    const Waiting waiting;
    const int all = waiting.processors();
    processors.keep_here(waiting.pid());
    EXPECT_EQ(waiting.processors(), 1);
    processors.give_all(waiting.pid());
    EXPECT_EQ(waiting.processors(), all);
}

TEST(Processors, ASelectionOfTheMachinesStaysAsItIs) {
    EXPECT_TRUE(said_on_one_processor([] { return !Processors().can_choose(); }));
    EXPECT_TRUE(said_on_one_processor([] {
        const Waiting waiting;
        cpu_set_t other, now;
        CPU_ZERO(&other);
        CPU_SET(0, &other);
        CPU_SET(1, &other);
        (void)::sched_setaffinity(waiting.pid(), sizeof other, &other);
        (void)::sched_getaffinity(waiting.pid(), sizeof other, &other);
        const Processors processors;
        processors.keep_here(waiting.pid());
        const bool kept = ::sched_getaffinity(waiting.pid(), sizeof now, &now) == 0 && CPU_EQUAL(&now, &other);
        processors.give_all(waiting.pid());
        return kept && ::sched_getaffinity(waiting.pid(), sizeof now, &now) == 0 && CPU_EQUAL(&now, &other);
    }));
}

TEST(Processors, OfAProcessThatHasEndedNothingHappens) {
    pid_t gone = 0;
    {
        const Waiting waiting;
        gone = waiting.pid();
    }
    const Processors processors;
    processors.keep_here(gone);
    processors.give_all(gone);
}

}  // namespace
}  // namespace porthole::winhost
