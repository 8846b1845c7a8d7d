#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "client/client.h"

namespace porthole::kubelet {

namespace core = api::core::v1;

/// The certificates of ClusterTrustBundles, for all volumes of a node. A pod may have thousands of sources, so all bundles are listed at once,
/// every ten seconds at most, or every second while a source matches none. Lives on `loop`.
///
/// Differs from Kubernetes, which watches the bundles: a change reaches a running pod up to ten seconds later.
class TrustAnchors {
public:
    /// The certificates that `source` selects, each once, as PEM. The client outlives the task. Errors: NotFound if there are none, unless
    /// `source` is optional; the API's, also if it does not serve such bundles.
    Task<std::string> of(EventLoop& loop, client::Client& client, core::ClusterTrustBundleProjection source);

private:
    struct Bundle {
        std::string name, signer;
        std::map<std::string, std::string> labels;
        std::vector<std::string> certificates;  ///< DER
    };
    using Bundles = std::shared_ptr<const std::vector<Bundle>>;

    static bool selects(const core::ClusterTrustBundleProjection& source, const Bundle& bundle);
    /// What was listed less than `age` ago, or is listed now.
    Task<Bundles> bundles(EventLoop& loop, client::Client& client, Duration age);

    Bundles listed_;
    MonotonicTime listed_at_{};
};

}  // namespace porthole::kubelet
