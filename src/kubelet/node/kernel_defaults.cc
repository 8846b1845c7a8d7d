#include "kubelet/node/kernel_defaults.h"

namespace porthole::kubelet {
namespace {

struct Setting {
    const char *name, *value;
};
constexpr Setting Wanted[] = {
    {"vm/overcommit_memory", "1"},
    {"vm/panic_on_oom", "0"},
    {"kernel/panic", "10"},
    {"kernel/panic_on_oops", "1"},
    {"kernel/keys/root_maxkeys", "1000000"},
    {"kernel/keys/root_maxbytes", "25000000"},
};

}  // namespace

Result<void> check_kernel_defaults(FileSystem& files) {
    for (const Setting& setting : Wanted) {
        TRY(std::string actual, files.read(std::string("/proc/sys/") + setting.name));
        while (actual.ends_with('\n')) actual.pop_back();
        if (actual != setting.value)
            return Error(Reason::BadRequest, std::string("invalid kernel flag: ") + setting.name + ", expected value: " + setting.value +
                                                 ", actual value: " + actual +
                                                 "; set it by sysctl, or leave out --protect-kernel-defaults");
    }
    return {};
}

}  // namespace porthole::kubelet
