#include "windows/support.h"

#include "api/node_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/admission/pod_templates.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using api::node::v1::RuntimeClass;

bool has_controller(const Pod& pod) {
    for (const auto& owner : pod.metadata.owner_references)
        if (owner.controller.value_or(false)) return true;
    return false;
}

/// Warns of what will not be on Windows as the manifest says. Whoever wrote the manifest reads it: that of a workload is told of by its
/// template, not again with each pod.
class WindowsSupport final : public AdmissionPlugin {
public:
    WindowsSupport(const ObjectReader& reader, SystemsOfNodes systems) : reader_(reader), systems_(std::move(systems)) {}
    std::string_view name() const override { return "WindowsSupport"; }

    Task<> validate(const AdmissionAttributes& attributes) override {
        const bool written = attributes.operation == AdmissionOperation::Create || attributes.operation == AdmissionOperation::Update;
        if (!written || !attributes.object || !attributes.object->is_built_in() || !attributes.subresource.empty()) co_return {};
        if (attributes.is("", "pods")) {
            if (attributes.operation == AdmissionOperation::Create) warn_of_pod(attributes);
        } else if (attributes.is("", "services")) {
            warn_of_service(attributes);
        } else {
            warn_of_workload(attributes);
        }
        co_return {};
    }

private:
    void warn_of_pod(const AdmissionAttributes& attributes) const {
        const Pod& pod = attributes.object->view<Pod>();
        if (!has_controller(pod)) tell(attributes, windows::warnings(pod.spec, "spec", systems_(), pod.metadata.annotations));
    }

    void warn_of_service(const AdmissionAttributes& attributes) const {
        std::vector<std::string> warnings = windows::warnings(attributes.object->view<Service>(), systems_());
        if (attributes.old_object && windows::warnings(attributes.old_object->view<Service>(), systems_()) == warnings) return;
        tell(attributes, std::move(warnings));
    }

    void warn_of_workload(const AdmissionAttributes& attributes) const {
        const TemplateInside wanted = template_in(*attributes.object);
        if (!wanted.pods) return;
        const TemplateInside before = attributes.old_object ? template_in(*attributes.old_object) : TemplateInside();
        if (before.pods && before.pods->spec == wanted.pods->spec && before.pods->metadata.annotations == wanted.pods->metadata.annotations)
            return;
        PodSpec spec = wanted.pods->spec;
        take_selector_of_class(spec);
        tell(attributes, windows::warnings(spec, std::string(wanted.path) + ".spec", systems_(), wanted.pods->metadata.annotations));
    }

    /// A pod has its runtime class's selector from admission on; its template does not.
    void take_selector_of_class(PodSpec& spec) const {
        if (!spec.runtime_class_name) return;
        const auto found = reader_.find<RuntimeClass>("", *spec.runtime_class_name);
        if (found && *found && (*found)->scheduling)
            spec.node_selector.insert((*found)->scheduling->node_selector.begin(), (*found)->scheduling->node_selector.end());
    }

    static void tell(const AdmissionAttributes& attributes, std::vector<std::string> warnings) {
        for (std::string& warning : warnings) attributes.warnings.push_back(std::move(warning));
    }

    const ObjectReader& reader_;
    const SystemsOfNodes systems_;
};

}  // namespace

AdmissionPluginPtr make_windows_support(const AdmissionDependencies& given) {
    return std::make_unique<WindowsSupport>(given.reader, given.systems);
}

}  // namespace porthole::apiserver
