#include "kubelet/volumes/object_volumes/trust_anchors.h"

#include "api/certificates_v1beta1.h"
#include "base/base64.h"
#include "base/strings.h"
#include "objects/selectors.h"

namespace porthole::kubelet {
namespace {

using api::certificates::v1beta1::ClusterTrustBundle;

constexpr std::string_view Begin = "-----BEGIN CERTIFICATE-----", End = "-----END CERTIFICATE-----";
constexpr std::size_t LineLength = 64;

std::string pem_of(const std::string& der) {
    const std::string text = encode_base64(der);
    std::string pem(Begin);
    for (std::size_t at = 0; at < text.size(); at += LineLength) pem += "\n" + text.substr(at, LineLength);
    return pem.append("\n").append(End).append("\n");
}

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

Result<void> add_anchors(const std::string& bundle, std::set<std::string>& anchors) {
    for (std::size_t at = bundle.find(Begin); at != bundle.npos; at = bundle.find(Begin, at)) {
        at += Begin.size();
        const std::size_t end = bundle.find(End, at);
        if (end == bundle.npos) return Error(Reason::BadRequest, "a certificate of the trust bundle has no end");
        auto der = decode_base64(trim(std::string_view(bundle).substr(at, end - at)));
        if (!der) return std::move(der).error().with_context("a certificate of the trust bundle");
        anchors.insert(*std::move(der));
        at = end + End.size();
    }
    return {};
}

Task<std::string> trust_anchors(client::Client& client, core::ClusterTrustBundleProjection source) {
    if (!source.name && !source.signer_name)
        co_return Error(Reason::BadRequest, "ClusterTrustBundle projection requires either name or signerName to be set");
    CO_TRY(const auto bundles, co_await list(client, source));
    if (bundles.empty() && !source.optional.value_or(false)) {
        if (source.name) co_return Error(Reason::NotFound, "clustertrustbundle.certificates.k8s.io \"" + *source.name + "\" not found");
        co_return Error(Reason::NotFound, "combination of signerName and labelSelector matched zero ClusterTrustBundles");
    }
    std::set<std::string> anchors;
    for (const ClusterTrustBundle& bundle : bundles) CO_TRY_VOID(add_anchors(bundle.spec.trust_bundle, anchors));
    std::string pem;
    for (const std::string& anchor : anchors) pem += pem_of(anchor);
    co_return pem;
}

}  // namespace porthole::kubelet
