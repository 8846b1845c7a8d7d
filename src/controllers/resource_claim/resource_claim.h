#pragma once
#include <map>
#include <optional>
#include <string>

#include "api/resource_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Creates the ResourceClaims that pods request by template, owned by their pods, and names them in status.resourceClaimStatuses. Reserves
/// claims for pods that were assigned to their node without the scheduler.
class ResourceClaimController final : public client::Controller {
public:
    static constexpr const char* Account = "resource-claim-controller";
    explicit ResourceClaimController(Context& context);

private:
    using Pod = std::shared_ptr<const api::core::v1::Pod>;
    using Claim = api::resource::v1::ResourceClaim;
    using Template = api::resource::v1::ResourceClaimTemplate;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// The name of the entry's claim, which is created if necessary; "" if the entry needs no name in the status. `named`: by the status;
    /// `seen`: "" or the claim that the cache has for the entry.
    Task<std::string> ensure_claim(Pod pod, api::core::v1::PodResourceClaim entry, std::optional<std::string> named, std::string seen);
    void forget(const api::meta::v1::ObjectMeta& claim, const api::meta::v1::OwnerReference& owner);
    Task<> write_names(Pod pod, std::map<std::string, std::string> names);
    Task<> reserve_claims(Pod pod);
    std::map<std::string, std::string> claims_by_entry(const api::core::v1::Pod& pod) const;

    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<api::core::v1::Pod>& pods_;
    client::Informer<Claim>& claims_;
    client::Informer<Template>& templates_;
    OwnerIndex<Claim> claims_by_owner_;
    /// By pod uid and entry: claims that the cache may not show yet.
    std::map<std::string, std::map<std::string, client::NamespacedName>> made_;
};

}  // namespace porthole::controllers
