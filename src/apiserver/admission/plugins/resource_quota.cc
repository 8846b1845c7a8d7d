#include <algorithm>
#include <deque>

#include "api/core_v1.h"
#include "api/resource_v1.h"
#include "apiserver/admission/plugins.h"
#include "objects/claim_usage.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using api::resource::v1::DeviceClass;
using api::resource::v1::ResourceClaim;
using objects::ClaimUsage;
using objects::ResourceAmounts;
using objects::operator+=;  // std::map's own lookup does not reach our namespace

/// How long a passed write is counted although it is not stored yet; it is stored, or has failed, long before.
constexpr Duration ReservationLife = std::chrono::seconds(2);

/// "cpu=1,pods=3" of those names that are in `wanted`.
std::string text_of(const ResourceAmounts& amounts, const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        const auto found = amounts.find(name);
        text += (text.empty() ? "" : ",") + name + "=" + (found == amounts.end() ? "0" : found->second.to_string());
    }
    return text;
}

/// Whose amounts every container must state, or a quota on them would count nothing.
bool must_be_stated(const std::string& resource, bool& limit, std::string& name) {
    limit = resource.starts_with("limits.");
    name = resource;
    for (const std::string_view prefix : {"limits.", "requests."})
        if (resource.starts_with(prefix)) name = resource.substr(prefix.size());
    return name == "cpu" || name == "memory" || name == "ephemeral-storage";
}

/// "cpu for: a,b; memory for: b", for what the quota limits and the containers leave open. Containers of a pod
/// with resources of its own may leave open what they want (KEP-2837).
std::string unstated(const ResourceQuota& quota, const Pod& pod) {
    if (objects::has_pod_level_resources(pod.spec)) return "";
    std::string all;
    for (const auto& [resource, hard] : quota.spec.hard) {
        bool limit = false;
        std::string name, containers;
        if (!must_be_stated(resource, limit, name)) continue;
        for (const auto* list : {&pod.spec.containers, &pod.spec.init_containers})
            for (const Container& container : *list) {
                const auto& stated = limit ? container.resources.limits : container.resources.requests;
                if (!stated.contains(name)) containers += (containers.empty() ? "" : ",") + container.name;
            }
        if (!containers.empty()) all += (all.empty() ? "" : "; ") + resource + " for: " + containers;
    }
    return all;
}

/// Refuses what would take a namespace over one of its quotas.
///
/// Counts what is stored at that moment and, since several writes may be between their admission and the store, also those that
/// have passed and are not stored yet, so that writes side by side do not overrun a quota together. Differs from Kubernetes: status.used is
/// not written here (the controller does, from the same counts), so that a write that fails afterwards takes nothing with it.
class ResourceQuotaAdmission final : public AdmissionPlugin {
public:
    ResourceQuotaAdmission(const ObjectReader& reader, const Clock& clock) : reader_(reader), clock_(clock) {}
    std::string_view name() const override { return "ResourceQuota"; }

    Task<> validate(const AdmissionAttributes& attributes) override {
        const bool create = attributes.operation == AdmissionOperation::Create && attributes.subresource.empty();
        const bool update =
            attributes.operation == AdmissionOperation::Update && (attributes.subresource.empty() || attributes.subresource == "resize");
        if ((!create && !update) || !attributes.kind.namespaced() || !attributes.object) co_return {};
        if (attributes.is("", "resourcequotas") && update) co_return {};
        CO_TRY(const auto quotas, reader_.list<ResourceQuota>(attributes.namespace_));
        if (quotas.empty()) co_return {};

        const bool extended =
            std::ranges::any_of(quotas, [](const auto& quota) { return objects::limits_extended_resources(quota->spec); });
        std::optional<ClaimUsage> claims;
        if (attributes.object->is<ResourceClaim>() || (attributes.object->is<Pod>() && extended))
            CO_TRY_VOID(read_claims(attributes.namespace_, claims));
        const auto usage_of = [&](const ApiObject& object) { return usage(attributes.kind, object, claims); };
        const ResourceAmounts whole = usage_of(*attributes.object);
        ResourceAmounts wanted = whole;
        if (update && attributes.old_object)
            for (const auto& [resource, amount] : usage_of(*attributes.old_object)) wanted[resource] -= amount;
        std::erase_if(wanted, [](const auto& item) { return item.second.sign() <= 0; });
        const ResourceAmounts more = wanted;
        bool is_limited = false;
        for (const auto& quota : quotas) {
            if (!concerns(*quota, *attributes.object)) continue;
            // An update may bring an object into a quota's scopes.
            const bool enters = update && attributes.old_object && !concerns(*quota, *attributes.old_object);
            if (enters) wanted = whole;
            if (create && attributes.object->is<Pod>()) {
                if (const std::string missing = unstated(*quota, attributes.object->view<Pod>()); !missing.empty())
                    co_return admission_forbidden(attributes, "failed quota: " + quota->metadata.name + ": must specify " + missing);
            }
            const ResourceAmounts& counted = enters ? whole : more;
            if (!limits(*quota, counted)) continue;
            is_limited = true;
            CO_TRY_VOID(check(*quota, attributes, counted, claims));
        }
        // What no quota limits would be kept for nothing, and nothing would let it go.
        if (!attributes.dry_run && is_limited) reserve(attributes, std::move(wanted));
        co_return {};
    }

private:
    struct Reservation {
        std::string namespace_;
        const schema::Kind* kind;
        std::string name;
        ApiObject object;
        ResourceAmounts wanted;    ///< more than is stored of it
        store::Revision revision;  ///< of what is stored of it; none yet: Revision()
        MonotonicTime until;
    };

    void reserve(const AdmissionAttributes& attributes, ResourceAmounts wanted) {
        std::string name(attributes.object->name());
        // Of several updates of one object, only one can be stored without being admitted again.
        std::erase_if(reservations_, [&](const Reservation& one) { return is_of(one, attributes, name); });
        const store::Revision revision = reader_.revision(attributes.kind, attributes.namespace_, name);
        reservations_.push_back({attributes.namespace_, &attributes.kind, std::move(name), *attributes.object, std::move(wanted), revision,
                                 clock_.now() + ReservationLife});
    }
    static bool is_of(const Reservation& one, const AdmissionAttributes& attributes, std::string_view name) {
        return one.kind == &attributes.kind && one.namespace_ == attributes.namespace_ && one.name == name;
    }

    Result<void> read_claims(const std::string& space, std::optional<ClaimUsage>& usage) const {
        TRY(const auto classes, reader_.list<DeviceClass>());
        TRY(const auto pods, reader_.list<Pod>(space));
        TRY(auto claims, reader_.list<ResourceClaim>(space));
        usage.emplace(classes, pods, std::move(claims), clock_.wall_now());
        return {};
    }

    ResourceAmounts usage(const schema::Kind& kind, const ApiObject& object, const std::optional<ClaimUsage>& claims) const {
        if (object.is<ResourceClaim>()) return claims->of(object.view<ResourceClaim>());
        if (object.is<Pod>()) return objects::usage_of(object.view<Pod>(), clock_.wall_now());
        if (object.is<Service>()) return objects::usage_of(object.view<Service>());
        if (object.is<PersistentVolumeClaim>()) return objects::usage_of(object.view<PersistentVolumeClaim>());
        return objects::usage_of_kind(kind);
    }

    static bool concerns(const ResourceQuota& quota, const ApiObject& object) {
        if (object.is<Pod>()) return objects::covers(quota.spec, object.view<Pod>());
        if (object.is<PersistentVolumeClaim>()) return objects::covers(quota.spec, object.view<PersistentVolumeClaim>());
        return !objects::has_scopes(quota.spec);
    }

    static bool counts_with(const schema::Kind& one, const schema::Kind& other) {
        const auto uses_extended_resources = [](const schema::Kind& kind) {
            return &kind == &Pod::kind() || &kind == &ResourceClaim::kind();
        };
        return &one == &other || (uses_extended_resources(one) && uses_extended_resources(other));
    }

    static bool limits(const ResourceQuota& quota, const ResourceAmounts& wanted) {
        return std::ranges::any_of(quota.spec.hard, [&](const auto& hard) { return wanted.contains(hard.first); });
    }

    Result<void> check(const ResourceQuota& quota, const AdmissionAttributes& attributes, const ResourceAmounts& wanted,
                       const std::optional<ClaimUsage>& claims) {
        std::vector<std::string> exceeded;
        TRY(ResourceAmounts used, stored_usage(quota, attributes, claims));
        used += reserved_usage(quota, attributes);
        for (const auto& [resource, hard] : quota.spec.hard)
            if (wanted.contains(resource) && used[resource] + wanted.at(resource) > hard) exceeded.push_back(resource);
        if (exceeded.empty()) return {};
        return admission_forbidden(attributes, "exceeded quota: " + quota.metadata.name + ", requested: " + text_of(wanted, exceeded) +
                                                   ", used: " + text_of(used, exceeded) +
                                                   ", limited: " + text_of(quota.spec.hard, exceeded));
    }

    /// By all stored objects of the kind that is being written; pods and claims both use extended resources.
    Result<ResourceAmounts> stored_usage(const ResourceQuota& quota, const AdmissionAttributes& attributes,
                                         const std::optional<ClaimUsage>& claims) const {
        ResourceAmounts used;
        const std::string& space = attributes.namespace_;
        if (claims && !objects::has_scopes(quota.spec)) used += claims->of_all();
        if (attributes.object->is<Pod>() || attributes.object->is<ResourceClaim>()) {
            TRY(const auto pods, reader_.list<Pod>(space));
            for (const auto& pod : pods)
                if (objects::covers(quota.spec, *pod)) used += objects::usage_of(*pod, clock_.wall_now());
        } else if (attributes.object->is<Service>()) {
            TRY(const auto services, reader_.list<Service>(space));
            for (const auto& service : services) used += objects::usage_of(*service);
        } else if (attributes.object->is<PersistentVolumeClaim>()) {
            TRY(const auto claims, reader_.list<PersistentVolumeClaim>(space));
            for (const auto& claim : claims)
                if (objects::covers(quota.spec, *claim)) used += objects::usage_of(*claim);
        } else {
            TRY(const std::size_t count, reader_.count(attributes.kind, space));
            for (const auto& [resource, one] : objects::usage_of_kind(attributes.kind))
                used[resource] = Quantity::from_value(static_cast<std::int64_t>(count));
        }
        return used;
    }

    ResourceAmounts reserved_usage(const ResourceQuota& quota, const AdmissionAttributes& attributes) {
        const MonotonicTime now = clock_.now();
        std::erase_if(reservations_, [&](const Reservation& reserved) {
            return reserved.until <= now || reader_.revision(*reserved.kind, reserved.namespace_, reserved.name) != reserved.revision;
        });
        ResourceAmounts used;
        for (const Reservation& reserved : reservations_) {
            if (reserved.namespace_ != attributes.namespace_ || !counts_with(*reserved.kind, attributes.kind)) continue;
            if (reserved.revision != store::Revision() && is_of(reserved, attributes, attributes.object->name())) continue;
            if (!concerns(quota, reserved.object)) continue;
            used += reserved.wanted;
        }
        return used;
    }

    const ObjectReader& reader_;
    const Clock& clock_;
    std::deque<Reservation> reservations_;
};

}  // namespace

AdmissionPluginPtr make_resource_quota(const AdmissionDependencies& given) {
    return std::make_unique<ResourceQuotaAdmission>(given.reader, given.loop);
}

}  // namespace porthole::apiserver
