#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "api/resource_v1.h"
#include "objects/quota_usage.h"

namespace porthole::objects {

/// How much of a ResourceQuota the ResourceClaims of a namespace use: by device class ("gpu.deviceclass.resource.k8s.io/devices"), and of
/// the extended resources that the classes offer ("requests.example.com/gpu").
class ClaimUsage {
public:
    template <class T>
    using Objects = std::vector<std::shared_ptr<const T>>;

    /// Pods and claims are those of the namespace.
    ClaimUsage(const Objects<api::resource::v1::DeviceClass>& classes, const Objects<api::core::v1::Pod>& pods,
               Objects<api::resource::v1::ResourceClaim> claims, SystemTime now);

    /// The claim need not be one of those given. Of what the scheduler made for a pod's extended resources, the pod's own usage is not
    /// counted again.
    ResourceAmounts of(const api::resource::v1::ResourceClaim& claim) const;
    ResourceAmounts of_all() const;

private:
    using Age = std::pair<Timestamp, std::string>;

    ResourceAmounts counted_of_pod(const api::resource::v1::ResourceClaim& claim) const;

    Objects<api::resource::v1::ResourceClaim> claims_;
    std::map<std::string, std::string> offered_;                             ///< extended resource by class
    std::map<std::string, std::shared_ptr<const api::core::v1::Pod>> pods_;  ///< by uid
    std::map<std::string, Age> first_;  ///< the first claim that says that the scheduler made it for the pod, by the pod's uid
    SystemTime now_;
};

/// Whether the quota limits an amount that both pods and claims use: that of an extended resource.
bool limits_extended_resources(const api::core::v1::ResourceQuotaSpec& quota);

}  // namespace porthole::objects
