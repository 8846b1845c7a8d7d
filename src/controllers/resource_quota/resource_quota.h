#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/meta_v1.h"
#include "api/resource_v1.h"
#include "controllers/framework/context.h"
#include "objects/quota_usage.h"

namespace porthole::controllers {

/// Maintains status.hard and status.used of ResourceQuotas.
class ResourceQuotaController final : public client::Controller {
public:
    static constexpr const char* Account = "resourcequota-controller";
    explicit ResourceQuotaController(Context& context);

private:
    using ResourceQuota = api::core::v1::ResourceQuota;
    using Counter = client::Informer<api::meta::v1::PartialObjectMetadata>;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    void recount(const std::string& namespace_);  ///< "" for all
    objects::ResourceAmounts used_by_typed_kinds(const ResourceQuota& quota) const;
    /// Counts the objects of the kind that "count/…" or an older name refers to; null if there is no such kind.
    Counter* counter_for(const std::string& resource);
    /// Whether it counts objects of a kind that is not built in.
    bool is_custom(const std::string& resource) const;
    /// 0 if there is no such kind (yet).
    Task<std::int64_t> count_custom(std::string resource, std::string namespace_);

    Context& context_;
    client::Informer<ResourceQuota>& quotas_;
    client::Informer<api::core::v1::Pod>& pods_;
    std::optional<PodIndex> pods_by_use_;  ///< see use_key(); once there is a quota
    client::Informer<api::core::v1::Service>& services_;
    client::Informer<api::core::v1::PersistentVolumeClaim>& claims_;
    client::Informer<api::resource::v1::DeviceClass>& device_classes_;
    client::Informer<api::resource::v1::ResourceClaim>& device_claims_;
    std::map<std::string, Counter*> counters_;  ///< by the resource's name in quotas
};

}  // namespace porthole::controllers
