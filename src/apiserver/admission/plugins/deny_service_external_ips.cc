#include <algorithm>
#include <set>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Service;

class DenyServiceExternalIps final : public AdmissionPlugin {
public:
    std::string_view name() const override { return "DenyServiceExternalIPs"; }

    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!attributes.is("", "services") || !attributes.subresource.empty() || !attributes.object) co_return {};
        const auto& wanted = attributes.object->view<Service>().spec.external_ips;
        std::set<std::string_view> before;
        if (attributes.old_object)
            for (const std::string& address : attributes.old_object->view<Service>().spec.external_ips) before.insert(address);
        if (std::ranges::all_of(wanted, [&](const std::string& address) { return before.contains(address); })) co_return {};
        co_return admission_forbidden(attributes, "Use of external IPs is denied by admission control");
    }
};

}  // namespace

AdmissionPluginPtr make_deny_service_external_ips(const AdmissionDependencies&) { return std::make_unique<DenyServiceExternalIps>(); }

}  // namespace porthole::apiserver
