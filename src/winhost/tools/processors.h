#pragma once
#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

namespace porthole::winhost {

/// On which processors Linux runs Wine's processes while they start.
///
/// A program asks Wine's server hundreds of times before its first line, and waits for each answer. If the two are on different processors,
/// each of them wakes up the other one's for every question, which takes longer than the answer: starts take half as long again. So they
/// are kept on one processor until the start is over.
class Processors {
public:
    /// Of this process: what it has now is what others are given back.
    Processors() {
        CPU_ZERO(&all_);
        if (::sched_getaffinity(0, sizeof all_, &all_) != 0) CPU_ZERO(&all_);
    }

    /// Whether there is a choice, and Windows programs can undo it: they can have all processors of the machine again, but no other
    /// selection.
    bool can_choose() const {
        const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
        constexpr long MostOfWindows = 64;
        if (count < 2 || count > MostOfWindows || CPU_COUNT(&all_) != count) return false;
        for (long i = 0; i < count; ++i)
            if (!CPU_ISSET(static_cast<std::size_t>(i), &all_)) return false;
        return true;
    }

    /// Keeps a process where the caller runs now, as Linux has chosen it; of a process with threads, the first one. What it starts is
    /// there, too.
    void keep_here(pid_t process) const {
        const int here = ::sched_getcpu();
        if (here < 0 || !can_choose()) return;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(here), &one);
        (void)::sched_setaffinity(process, sizeof one, &one);
    }

    void give_all(pid_t process) const {
        if (can_choose()) (void)::sched_setaffinity(process, sizeof all_, &all_);
    }

private:
    cpu_set_t all_;
};

}  // namespace porthole::winhost
