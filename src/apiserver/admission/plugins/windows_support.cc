#include "windows/support.h"

#include "api/node_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/admission/pod_templates.h"
#include "apiserver/validation/field_errors.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using api::node::v1::RuntimeClass;

bool has_controller(const Pod& pod) {
    for (const auto& owner : pod.metadata.owner_references)
        if (owner.controller.value_or(false)) return true;
    return false;
}

/// What a namespace says of pods that name no system, by this label.
constexpr const char* PolicyLabel = "porthole.dev/pods-without-os";
constexpr std::string_view SystemLabel = "kubernetes.io/os";

/// Warns of what will not be on Windows as the manifest says, or refuses it. Whoever wrote the manifest reads it: that of a workload is
/// told of by its template, not again with each pod.
class WindowsSupport final : public AdmissionPlugin {
public:
    WindowsSupport(const ObjectReader& reader, SystemsOfNodes systems, bool strict, bool identify_pod_os)
        : reader_(reader), systems_(std::move(systems)), strict_(strict), identify_pod_os_(identify_pod_os) {}
    std::string_view name() const override { return "WindowsSupport"; }

    /// A pod that names no system gets the one of its namespace, as a selector. Where the field is not known, none names it.
    Task<> admit(AdmissionAttributes& attributes) override {
        if (!attributes.is("", "pods") || attributes.operation != AdmissionOperation::Create || !attributes.subresource.empty())
            co_return {};
        const PodSpec& spec = attributes.object->view<Pod>().spec;
        if (!identify_pod_os_ && spec.os) attributes.object->edit<Pod>().spec.os.reset();
        if (!windows::system_asked_for(spec).empty() || !spec.node_name.empty()) co_return {};
        CO_TRY(const std::string policy, policy_of(attributes.namespace_));
        if (is_system(policy)) attributes.object->edit<Pod>().spec.node_selector.emplace(SystemLabel, policy);
        co_return {};
    }

    Task<> validate(const AdmissionAttributes& attributes) override {
        const bool written = attributes.operation == AdmissionOperation::Create || attributes.operation == AdmissionOperation::Update;
        if (!written || !attributes.object || !attributes.object->is_built_in() || !attributes.subresource.empty()) co_return {};
        if (attributes.is("", "pods")) co_return judge_pod(attributes);
        if (!attributes.is("", "services")) co_return judge_workload(attributes);
        warn_of_service(attributes);
        co_return {};
    }

private:
    static bool is_system(std::string_view policy) { return policy == "linux" || policy == "windows"; }

    Result<void> judge_pod(const AdmissionAttributes& attributes) const {
        const Pod& pod = attributes.object->view<Pod>();
        if (attributes.operation != AdmissionOperation::Create || has_controller(pod)) return {};
        return judge(attributes, pod.spec, "spec", pod.metadata.annotations);
    }

    void warn_of_service(const AdmissionAttributes& attributes) const {
        std::vector<std::string> warnings = windows::warnings(attributes.object->view<Service>(), systems_());
        if (attributes.old_object && windows::warnings(attributes.old_object->view<Service>(), systems_()) == warnings) return;
        tell(attributes, std::move(warnings));
    }

    Result<void> judge_workload(const AdmissionAttributes& attributes) const {
        const TemplateInside wanted = template_in(*attributes.object);
        if (!wanted.pods) return {};
        const TemplateInside before = attributes.old_object ? template_in(*attributes.old_object) : TemplateInside();
        if (before.pods && before.pods->spec == wanted.pods->spec && before.pods->metadata.annotations == wanted.pods->metadata.annotations)
            return {};
        PodSpec spec = wanted.pods->spec;
        take_selector_of_class(spec);
        return judge(attributes, spec, std::string(wanted.path) + ".spec", wanted.pods->metadata.annotations);
    }

    /// Error: Invalid, with a cause for each field.
    Result<void> judge(const AdmissionAttributes& attributes, const PodSpec& written, const std::string& path,
                       const windows::Annotations& annotations) const {
        const windows::Systems systems = systems_();
        FieldErrors errors;
        std::string policy;
        std::optional<PodSpec> of_pods;
        if (windows::system_asked_for(written).empty() && written.node_name.empty()) {
            TRY(policy, policy_of(attributes.namespace_));
            if (is_system(policy)) of_pods.emplace(written).node_selector.emplace(SystemLabel, policy);
            if (policy == "refuse")
                errors.required(path + ".os",
                                "pods of this namespace must name their operating system: set spec.os.name and "
                                "nodeSelector[\"kubernetes.io/os\"]");
        }
        const PodSpec& spec = of_pods ? *of_pods : written;
        if (strict_ && windows::system_asked_for(spec) == "windows")
            for (const windows::Finding& one : windows::find(spec, annotations, path))
                if (one.rule->outcome != windows::Outcome::Advised)
                    errors.forbidden(one.field, std::string(one.rule->words) + "; " + std::string(one.rule->remedy));
        if (!errors.empty()) return invalid(attributes.kind, attributes.name, errors);
        // The systems of its nodes do not matter to a namespace that allows either.
        tell(attributes, windows::warnings(spec, path, policy == "allow" ? windows::Systems() : systems, annotations));
        return {};
    }

    /// "" where it says none.
    Result<std::string> policy_of(const std::string& name) const {
        TRY(const auto found, reader_.find<Namespace>("", name));
        if (!found) return std::string();
        const auto label = found->metadata.labels.find(PolicyLabel);
        return label == found->metadata.labels.end() ? std::string() : label->second;
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
    const bool strict_, identify_pod_os_;
};

}  // namespace

AdmissionPluginPtr make_windows_support(const AdmissionDependencies& given) {
    return std::make_unique<WindowsSupport>(given.reader, given.systems, given.windows_strict, given.identify_pod_os);
}

}  // namespace porthole::apiserver
