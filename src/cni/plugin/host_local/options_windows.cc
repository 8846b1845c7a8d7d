#include "cni/plugin/host_local/host_local.h"

namespace porthole::cni {

HostLocalOptions default_host_local_options() { return {.data_dir = "C:/var/lib/cni/networks", .colons = false}; }

}  // namespace porthole::cni
