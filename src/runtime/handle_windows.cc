#include "runtime/handle_windows.h"

#include <windows.h>

namespace porthole {

void Handle::close() {
    if (handle_) CloseHandle(std::exchange(handle_, nullptr));
}

}  // namespace porthole
