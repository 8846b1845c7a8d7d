#include "runtime/task.h"

namespace porthole::detail {

void destroy_frame(std::coroutine_handle<> frame) { frame.destroy(); }

}  // namespace porthole::detail
