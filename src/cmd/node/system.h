#pragma once
#include "proxy/options/options.h"

namespace porthole::cmd {

/// The operating system's part of a node's network programs.
struct NetworkSystem {
    proxy::System proxy = proxy::System::Linux;
    char path_separator = ':';
    const char* program_suffix = "";
};
extern const NetworkSystem OwnNetworkSystem;

}  // namespace porthole::cmd
