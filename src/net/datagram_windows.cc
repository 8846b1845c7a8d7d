#include <cstdint>

namespace porthole::net {

void report_unreachable(std::uintptr_t, bool) {}  // Windows does so unasked

}  // namespace porthole::net
