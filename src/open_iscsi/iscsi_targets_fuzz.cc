// What a portal has answered, as iscsiadm prints it: every name that is taken is one word, without a slash and no option.
#include <cstdint>
#include <cstdlib>

#include "open_iscsi/target_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole::open_iscsi;
    const auto targets = parse_target_list({reinterpret_cast<const char*>(data), size});
    if (targets.size() > MostListedTargets) std::abort();
    for (const ListedTarget& target : targets) {
        if (!is_plain_target_name(target.name) || target.name.find_first_of("/ \t\n\r") != std::string::npos) std::abort();
        const std::string portal = (target.address.find(':') == std::string::npos ? target.address : "[" + target.address + "]") + ":" +
                                   std::to_string(target.port) + "," + std::to_string(target.group);
        if (const auto again = parse_target_list(portal + " " + target.name); again.size() != 1 || again.front() != target) std::abort();
    }
    return 0;
}
