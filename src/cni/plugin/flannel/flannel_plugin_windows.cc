#include "cni/plugin/flannel/flannel_plugin.h"

namespace porthole::cni {

FlannelPluginOptions default_flannel_plugin_options() {
    return {.style = DelegateStyle::Windows, .subnet_file = "C:/run/flannel/subnet.env", .data_dir = "C:/var/lib/cni/flannel"};
}

}  // namespace porthole::cni
