#include "cmd/program/runtime_setup.h"

#include <cstdio>

namespace porthole::cmd {

int fail(const std::string& message) {
    std::fprintf(stderr, "porthole: %s\n", message.c_str());
    return 1;
}

}  // namespace porthole::cmd
