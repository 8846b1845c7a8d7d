#pragma once
#include <string>

#include "api/core_v1.h"
#include "client/client.h"

namespace porthole::kubelet {

namespace core = api::core::v1;

/// The certificates of the ClusterTrustBundles that `source` selects, each once, as PEM. Errors: NotFound if there are none, unless
/// `source` is optional; the API's, also if it does not serve such bundles.
Task<std::string> trust_anchors(client::Client& client, core::ClusterTrustBundleProjection source);

}  // namespace porthole::kubelet
