#include <algorithm>
#include <array>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/request/status.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Namespace;

constexpr std::array<std::string_view, 3> Permanent = {"default", "kube-system", "kube-public"};

class NamespaceLifecycle final : public AdmissionPlugin {
public:
    explicit NamespaceLifecycle(const ObjectReader& reader) : reader_(reader) {}
    std::string_view name() const override { return "NamespaceLifecycle"; }

    Task<> admit(AdmissionAttributes& attributes) override {
        if (attributes.is("", "namespaces")) {
            const bool permanent = std::ranges::find(Permanent, attributes.name) != Permanent.end();
            if (attributes.operation == AdmissionOperation::Delete && permanent) {
                co_return admission_forbidden(attributes, "this namespace may not be deleted");
            }
            co_return {};
        }
        if (attributes.namespace_.empty() || attributes.operation != AdmissionOperation::Create) co_return {};
        if (is_access_review(attributes)) co_return {};
        CO_TRY(const auto found, reader_.find<Namespace>("", attributes.namespace_));
        if (!found) co_return not_found(Namespace::kind(), attributes.namespace_);
        if (!found->metadata.deletion_timestamp) co_return {};
        Error error = admission_forbidden(
            attributes, "unable to create new content in namespace " + attributes.namespace_ + " because it is being terminated");
        error.details->causes.push_back(
            {"NamespaceTerminating", "namespace " + attributes.namespace_ + " is being terminated", "metadata.namespace"});
        co_return error;
    }

private:
    /// Reviews ask about namespaces that may not exist.
    static bool is_access_review(const AdmissionAttributes& attributes) {
        return attributes.is("authorization.k8s.io", "localsubjectaccessreviews");
    }
    const ObjectReader& reader_;
};

}  // namespace

AdmissionPluginPtr make_namespace_lifecycle(const AdmissionDependencies& given) {
    return std::make_unique<NamespaceLifecycle>(given.reader);
}

}  // namespace porthole::apiserver
