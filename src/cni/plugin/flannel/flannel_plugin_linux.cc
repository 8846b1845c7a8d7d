#include "cni/plugin/flannel/flannel_plugin.h"

namespace porthole::cni {

FlannelPluginOptions default_flannel_plugin_options() {
    return {.style = DelegateStyle::Linux, .subnet_file = "/run/flannel/subnet.env", .data_dir = "/var/lib/cni/flannel"};
}

}  // namespace porthole::cni
