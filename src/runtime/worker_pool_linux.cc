#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace porthole {
namespace {

/// `struct sched_attr` of sched_setattr(2), which glibc does not have.
struct SchedulingAttributes {
    std::uint32_t size = sizeof(SchedulingAttributes);
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 0, deadline = 0, period = 0;  // nanoseconds
};

}  // namespace

void take_short_turns() {
    constexpr std::uint64_t Turn = 100'000;  // the shortest there is; heard since Linux 6.12
    SchedulingAttributes attributes;
    if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != SCHED_OTHER) return;
    attributes.runtime = Turn;
    ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace porthole
