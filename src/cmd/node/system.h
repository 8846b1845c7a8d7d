#pragma once
#include "proxy/options/options.h"

namespace porthole::cmd {

/// What programs of a node's network ask of the operating system they run on.
struct NetworkSystem {
    proxy::System proxy = proxy::System::Linux;
    char path_separator = ':';
    const char* program_suffix = "";
};
extern const NetworkSystem OwnNetworkSystem;

}  // namespace porthole::cmd
