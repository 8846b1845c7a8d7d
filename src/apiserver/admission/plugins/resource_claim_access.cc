#include <map>
#include <set>
#include <tuple>

#include "api/core_v1.h"
#include "api/resource_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/validation/field_errors.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

namespace resource = api::resource::v1;

constexpr const char* AdminLabel = "resource.kubernetes.io/admin-access";
constexpr const char* NodeNameKey = "authentication.kubernetes.io/node-name";
constexpr std::string_view ServiceAccountPrefix = "system:serviceaccount:";

/// The first request that asks for access to devices in use.
std::optional<FieldPath> admin_request(const resource::DeviceClaim& claim, const FieldPath& path) {
    for (std::size_t i = 0; i < claim.requests.size(); ++i)
        if (claim.requests[i].exactly && claim.requests[i].exactly->admin_access.value_or(false)) return path.index(i).child("adminAccess");
    return {};
}

std::optional<FieldPath> admin_result(const resource::ResourceClaim& claim) {
    if (!claim.status.allocation) return {};
    const auto& results = claim.status.allocation->devices.results;
    for (std::size_t i = 0; i < results.size(); ++i)
        if (results[i].admin_access.value_or(false)) return FieldPath("status.allocation.devices.results").index(i).child("adminAccess");
    return {};
}

/// The node that the claim's devices are on; "" where they are not on exactly one.
std::string node_of(const resource::ResourceClaim& claim) {
    if (!claim.status.allocation || !claim.status.allocation->node_selector) return "";
    const auto& terms = claim.status.allocation->node_selector->node_selector_terms;
    if (terms.size() != 1 || !terms[0].match_expressions.empty() || terms[0].match_fields.size() != 1) return "";
    const auto& field = terms[0].match_fields[0];
    return field.key == "metadata.name" && field.operator_ == "In" && field.values.size() == 1 ? field.values[0] : "";
}

bool is_on_node(const User& user, const std::string& node) {
    const auto names = user.extra.find(NodeNameKey);
    return !node.empty() && user.name.starts_with(ServiceAccountPrefix) && names != user.extra.end() && names->second.size() == 1 &&
           names->second[0] == node;
}

/// Drivers of whose devices the status says something else.
std::set<std::string> changed_drivers(const resource::ResourceClaim& now, const resource::ResourceClaim& before) {
    std::map<std::tuple<std::string, std::string, std::string, std::string>, const resource::AllocatedDeviceStatus*> old;
    const auto key = [](const resource::AllocatedDeviceStatus& device) {
        return std::tuple(device.driver, device.pool, device.device, device.share_id.value_or(""));
    };
    for (const resource::AllocatedDeviceStatus& device : before.status.devices) old[key(device)] = &device;
    std::set<std::string> drivers;
    for (const resource::AllocatedDeviceStatus& device : now.status.devices) {
        const auto found = old.find(key(device));
        if (found == old.end() || !(*found->second == device)) drivers.insert(device.driver);
        if (found != old.end()) old.erase(found);
    }
    for (const auto& [name, device] : old) drivers.insert(device->driver);
    return drivers;
}

/// Devices that others use are for namespaces that an administrator has marked. And what of a claim's status is whose: the scheduler's is
/// the allocation, for which the right over resourceclaims/binding is needed, and drivers' are their devices, for which they need the right
/// over resourceclaims/driver of their name, with a verb that says whether only for the devices of their own node.
class ResourceClaimAccess final : public AdmissionPlugin {
public:
    explicit ResourceClaimAccess(const AdmissionDependencies& given) : reader_(given.reader), authorizer_(given.authorizer) {}
    std::string_view name() const override { return "ResourceClaimAccess"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.kind.group == "resource.k8s.io"; }

    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!attributes.object) co_return {};
        FieldErrors errors;
        if (attributes.is("resource.k8s.io", "resourceclaimtemplates") && attributes.operation == AdmissionOperation::Create) {
            const auto& made = attributes.object->view<resource::ResourceClaimTemplate>();
            CO_TRY_VOID(check_admin(attributes, admin_request(made.spec.spec.devices, "spec.devices.requests"), errors));
        } else if (attributes.is("resource.k8s.io", "resourceclaims")) {
            const auto& claim = attributes.object->view<resource::ResourceClaim>();
            if (attributes.operation == AdmissionOperation::Create) {
                CO_TRY_VOID(check_admin(attributes, admin_request(claim.spec.devices, "spec.devices.requests"), errors));
            } else if (attributes.operation == AdmissionOperation::Update && attributes.subresource == "status") {
                const auto& before = attributes.old_object->view<resource::ResourceClaim>();
                if (!admin_result(before)) CO_TRY_VOID(check_admin(attributes, admin_result(claim), errors));
                CO_TRY_VOID(co_await check_binding(attributes, claim, before, errors));
                CO_TRY_VOID(co_await check_devices(attributes, claim, before, errors));
            }
        }
        if (!errors.empty()) co_return invalid(attributes.kind, attributes.name, errors);
        co_return {};
    }

private:
    Result<void> check_admin(const AdmissionAttributes& attributes, const std::optional<FieldPath>& path, FieldErrors& errors) const {
        if (!path) return {};
        TRY(const auto found, reader_.find<api::core::v1::Namespace>("", attributes.namespace_));
        const auto label = found ? found->metadata.labels.find(AdminLabel) : decltype(found->metadata.labels.find(""))();
        if (!found || label == found->metadata.labels.end() || label->second != "true")
            errors.forbidden(
                *path, std::string("admin access to devices requires the `") + AdminLabel + ": true` label on the containing namespace");
        return {};
    }

    Task<> check_binding(const AdmissionAttributes& attributes, const resource::ResourceClaim& now, const resource::ResourceClaim& before,
                         FieldErrors& errors) {
        if (now.status.allocation == before.status.allocation && now.status.reserved_for == before.status.reserved_for) co_return {};
        CO_TRY(const std::string refusal, co_await refusal_of(question_of(attributes, "binding"), {""}));
        if (!refusal.empty())
            errors.forbidden("status.allocation",
                             "changing status.allocation or status.reservedFor requires "
                             "resource=\"resourceclaims/binding\", verb=\"update\" permission: " +
                                 refusal);
        co_return {};
    }

    Task<> check_devices(const AdmissionAttributes& attributes, const resource::ResourceClaim& now, const resource::ResourceClaim& before,
                         FieldErrors& errors) {
        if (!now.status.allocation) co_return {};
        std::vector<std::string> prefixes;
        if (is_on_node(attributes.user, node_of(now))) prefixes.push_back("associated-node:");
        prefixes.push_back("arbitrary-node:");
        for (const std::string& driver : changed_drivers(now, before)) {
            AuthorizationAttributes question = question_of(attributes, "driver");
            question.namespace_ = attributes.namespace_;
            question.name = driver;
            CO_TRY(const std::string refusal, co_await refusal_of(std::move(question), prefixes));
            if (!refusal.empty())
                errors.forbidden("status.devices", "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[" +
                                                       join(prefixes, " ", [](const std::string& prefix) { return prefix + "update"; }) +
                                                       "]\" permission: " + refusal);
        }
        co_return {};
    }

    static AuthorizationAttributes question_of(const AdmissionAttributes& attributes, std::string subresource) {
        return {.user = attributes.user,
                .verb = "",
                .is_resource = true,
                .group = "resource.k8s.io",
                .version = std::string(attributes.kind.version),
                .resource = "resourceclaims",
                .subresource = std::move(subresource)};
    }
    /// "" where the user may do it with one of the prefixes before the verb. Differs from Kubernetes: a right to patch is as good as one to
    /// update, whichever the request does.
    Task<std::string> refusal_of(AuthorizationAttributes question, std::vector<std::string> prefixes) {
        std::string first;
        for (const std::string& prefix : prefixes)
            for (const char* verb : {"update", "patch"}) {
                question.verb = prefix + verb;
                CO_TRY(const Decision decision, co_await authorizer_.authorize(question));
                if (decision.allowed()) co_return std::string();
                if (first.empty()) first = forbidden(question, decision.reason).message;
            }
        co_return first;
    }

    const ObjectReader& reader_;
    Authorizer& authorizer_;
};

}  // namespace

AdmissionPluginPtr make_resource_claim_access(const AdmissionDependencies& given) { return std::make_unique<ResourceClaimAccess>(given); }

}  // namespace porthole::apiserver
