#include "kubelet/volumes/object_volumes/trust_anchors.h"

#include <algorithm>
#include <set>

#include "api/certificates_v1beta1.h"
#include "net/tls/pem.h"
#include "objects/selectors.h"

namespace porthole::kubelet {

using api::certificates::v1beta1::ClusterTrustBundle;

/// A name has precedence. Without a selector of labels none of a signer's are meant.
bool TrustAnchors::selects(const core::ClusterTrustBundleProjection& source, const Bundle& bundle) {
    if (source.name) return bundle.name == *source.name;
    return bundle.signer == source.signer_name.value_or("") && objects::matches(source.label_selector, bundle.labels);
}

Task<TrustAnchors::Bundles> TrustAnchors::bundles(EventLoop& loop, client::Client& client, Duration age) {
    if (listed_ && loop.now() - listed_at_ < age) co_return listed_;
    auto found = co_await client.list<ClusterTrustBundle>({});
    if (!found) co_return std::move(found).error().with_context("listing ClusterTrustBundles");
    std::vector<Bundle> all;
    for (ClusterTrustBundle& bundle : found->items) {
        Bundle& one =
            all.emplace_back(std::move(bundle.metadata.name), std::move(bundle.spec.signer_name), std::move(bundle.metadata.labels));
        for (net::PemBlock& block : net::parse_pem(bundle.spec.trust_bundle)) one.certificates.push_back(std::move(block.bytes));
    }
    listed_ = std::make_shared<const std::vector<Bundle>>(std::move(all));
    listed_at_ = loop.now();
    co_return listed_;
}

Task<std::string> TrustAnchors::of(EventLoop& loop, client::Client& client, core::ClusterTrustBundleProjection source) {
    using namespace std::chrono_literals;
    if (!source.name && !source.signer_name)
        co_return Error(Reason::BadRequest, "ClusterTrustBundle projection requires either name or signerName to be set");
    const auto selected = [&source](const Bundle& bundle) { return selects(source, bundle); };
    CO_TRY(Bundles all, co_await bundles(loop, client, 10s));
    if (std::ranges::none_of(*all, selected)) {
        CO_TRY(all, co_await bundles(loop, client, 1s));
    }
    if (std::ranges::none_of(*all, selected) && !source.optional.value_or(false)) {
        if (source.name) co_return Error(Reason::NotFound, "clustertrustbundle.certificates.k8s.io \"" + *source.name + "\" not found");
        co_return Error(Reason::NotFound, "combination of signerName and labelSelector matched zero ClusterTrustBundles");
    }
    std::set<std::string> anchors;
    for (const Bundle& bundle : *all)
        if (selected(bundle)) anchors.insert(bundle.certificates.begin(), bundle.certificates.end());
    std::string pem;
    for (const std::string& anchor : anchors) pem += net::to_pem("CERTIFICATE", anchor);
    co_return pem;
}

}  // namespace porthole::kubelet
