#include "cmd/program/runtime_setup.h"

#include <cstdio>

#include "base/terminal_text.h"

namespace porthole::cmd {

int fail(const std::string& message) {
    std::fprintf(stderr, "porthole: %s\n", for_terminal(message).c_str());
    return 1;
}

}  // namespace porthole::cmd
