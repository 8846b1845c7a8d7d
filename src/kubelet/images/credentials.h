#pragma once
#include <vector>

#include "kubelet/images/image_name.h"
#include "kubelet/pod/pod.h"

namespace porthole::kubelet {

/// Credentials for `image` out of secrets of type kubernetes.io/dockerconfigjson and kubernetes.io/dockercfg, the longest matching
/// registry path first. Secrets that cannot be read are skipped.
std::vector<cri::AuthConfig> registry_credentials(const ImageName& image, const std::vector<std::shared_ptr<const core::Secret>>& secrets);

}  // namespace porthole::kubelet
