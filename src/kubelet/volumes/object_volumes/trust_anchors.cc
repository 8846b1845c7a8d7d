#include "kubelet/volumes/object_volumes/trust_anchors.h"

#include <set>

#include "api/certificates_v1beta1.h"
#include "net/tls/pem.h"
#include "objects/selectors.h"

namespace porthole::kubelet {
namespace {

using api::certificates::v1beta1::ClusterTrustBundle;

/// A name has precedence. Without a selector of labels none of a signer's are meant.
bool selects(const core::ClusterTrustBundleProjection& source, const ClusterTrustBundle& bundle) {
    if (source.name) return bundle.metadata.name == *source.name;
    return bundle.spec.signer_name == source.signer_name.value_or("") && objects::matches(source.label_selector, bundle.metadata.labels);
}

Task<std::vector<ClusterTrustBundle>> list(client::Client& client, const core::ClusterTrustBundleProjection& source) {
    client::ListOptions options;
    if (source.name)
        options.field_selector = "metadata.name=" + *source.name;
    else if (source.label_selector)
        options.label_selector = objects::to_query(*source.label_selector);
    auto found = co_await client.list<ClusterTrustBundle>(std::move(options));
    if (!found) co_return std::move(found).error().with_context("listing ClusterTrustBundles");
    std::erase_if(found->items, [&](const ClusterTrustBundle& bundle) { return !selects(source, bundle); });
    co_return std::move(found->items);
}

}  // namespace

Task<std::string> trust_anchors(client::Client& client, core::ClusterTrustBundleProjection source) {
    if (!source.name && !source.signer_name)
        co_return Error(Reason::BadRequest, "ClusterTrustBundle projection requires either name or signerName to be set");
    CO_TRY(const auto bundles, co_await list(client, source));
    if (bundles.empty() && !source.optional.value_or(false)) {
        if (source.name) co_return Error(Reason::NotFound, "clustertrustbundle.certificates.k8s.io \"" + *source.name + "\" not found");
        co_return Error(Reason::NotFound, "combination of signerName and labelSelector matched zero ClusterTrustBundles");
    }
    std::set<std::string> anchors;
    for (const ClusterTrustBundle& bundle : bundles)
        for (net::PemBlock& block : net::parse_pem(bundle.spec.trust_bundle)) anchors.insert(std::move(block.bytes));
    std::string pem;
    for (const std::string& anchor : anchors) pem += net::to_pem("CERTIFICATE", anchor);
    co_return pem;
}

}  // namespace porthole::kubelet
