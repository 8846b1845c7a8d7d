#include <algorithm>
#include <map>
#include <set>
#include <type_traits>
#include <vector>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/admission/plugins/pod_references.h"
#include "apiserver/admission/policy_parameters.h"
#include "apiserver/validation/field_errors.h"
#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

constexpr const char* SpecKind = "GMSACredentialSpec";
constexpr const char* SpecVersion = "windows.k8s.io/v1";
constexpr const char* NameField = "gmsaCredentialSpecName";
constexpr const char* ContentsField = "gmsaCredentialSpec";

/// The windowsOptions of a pod, or of one of its containers. Valid until the pod is changed.
template <class Options>
struct OptionsOf {
    std::string container;  ///< "" for the pod's own
    FieldPath path;
    Options* options;
};

/// Of a `const PodSpec` or a PodSpec: what has none is left out.
template <class Spec>
auto windows_options_in(Spec& spec) {
    using Options = std::conditional_t<std::is_const_v<Spec>, const WindowsSecurityContextOptions, WindowsSecurityContextOptions>;
    std::vector<OptionsOf<Options>> found;
    const auto take = [&](auto& context, const std::string& container, const FieldPath& owner) {
        if (context && context->windows_options)
            found.push_back({container, owner / "securityContext" / "windowsOptions", &*context->windows_options});
    };
    const auto take_all = [&](auto& containers, const char* list) {
        for (std::size_t i = 0; i < containers.size(); ++i)
            take(containers[i].security_context, containers[i].name, FieldPath("spec").child(list).index(i));
    };
    take(spec.security_context, "", "spec");
    take_all(spec.init_containers, "initContainers");
    take_all(spec.containers, "containers");
    take_all(spec.ephemeral_containers, "ephemeralContainers");
    return found;
}

using Given = OptionsOf<const WindowsSecurityContextOptions>;

bool waits_for_contents(const WindowsSecurityContextOptions& options) {
    return options.gmsa_credential_spec_name && !options.gmsa_credential_spec;
}

/// Whether two texts are the same JSON: whoever wrote the contents by hand need not know in which order the server writes them.
bool same_contents(const std::string& one, const std::string& other) {
    if (one == other) return true;
    const auto left = schema::parse_json(one), right = schema::parse_json(other);
    return left && right && *left == *right;
}

/// Group-managed service accounts of Windows: a pod that names a GMSACredentialSpec gets its contents, which is what runtimes understand,
/// where its service account may `use` it. What kubernetes-sigs/windows-gmsa does by a webhook (admission-webhook/webhook.go), and like
/// that webhook it acts where the CustomResourceDefinition is installed. Once it is, contents without a name are refused: they would need
/// no right.
///
/// The rules of pods keep updates from changing either.
///
/// Differs from Kubernetes: containers that are added to a running pod count as well, and the right is asked for before the name is looked
/// up, so that nobody without it learns which names there are.
class GmsaCredentialSpec final : public AdmissionPlugin {
public:
    GmsaCredentialSpec(const PolicyParameters* objects, Authorizer& authorizer) : objects_(objects), authorizer_(authorizer) {}
    std::string_view name() const override { return "GMSACredentialSpec"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.is("", "pods"); }

    Task<> admit(AdmissionAttributes& attributes) override {
        std::map<std::string, std::string> contents;  // by container
        for (const Given& given : new_options(attributes)) {
            const schema::Kind* const kind = waits_for_contents(*given.options) ? kind_of_specs() : nullptr;
            if (!kind) continue;
            CO_TRY_VOID(co_await check_right(attributes, *given.options->gmsa_credential_spec_name));
            CO_TRY(contents[given.container], contents_of(attributes, *kind, given));
        }
        if (contents.empty()) co_return {};
        for (auto& [container, path, options] : windows_options_in(attributes.object->edit<Pod>().spec))
            if (const auto found = contents.find(container); found != contents.end()) options->gmsa_credential_spec = found->second;
        co_return {};
    }

    Task<> validate(const AdmissionAttributes& attributes) override {
        FieldErrors errors;
        for (const Given& given : new_options(attributes)) {
            if (!given.options->gmsa_credential_spec_name && !given.options->gmsa_credential_spec) continue;
            const schema::Kind* const kind = kind_of_specs();
            if (kind) {
                CO_TRY_VOID(co_await check_given(attributes, *kind, given, errors));
            } else if (waits_for_contents(*given.options)) {
                attributes.warnings.push_back(std::string((given.path / NameField).text()) +
                                              ": has no effect: the cluster has no CustomResourceDefinition of " + SpecKind + " (" +
                                              SpecVersion + ")");
            }
        }
        if (!errors.empty()) co_return invalid(attributes.kind, attributes.name, errors);
        co_return {};
    }

private:
    /// Null where the CustomResourceDefinition is not installed.
    const schema::Kind* kind_of_specs() const { return objects_ ? objects_->find_kind(SpecVersion, SpecKind) : nullptr; }

    static bool creates_pod(const AdmissionAttributes& attributes) {
        return attributes.operation == AdmissionOperation::Create && attributes.subresource.empty();
    }
    static bool adds_containers(const AdmissionAttributes& attributes) {
        return attributes.operation == AdmissionOperation::Update && attributes.subresource == "ephemeralcontainers" &&
               attributes.old_object;
    }
    /// A mirror pod shows what its node runs already; with contents it would show its node what the node may not read.
    static bool is_mirror(const Pod& pod) { return pod.metadata.annotations.contains(MirrorPodAnnotation); }

    /// What comes with this request: all of a new pod, and the containers that are added to one. Other requests, such as bindings, are
    /// known by their attributes: the pod itself is costly to look at.
    static std::vector<Given> new_options(const AdmissionAttributes& attributes) {
        const bool adds = adds_containers(attributes);
        if (!adds && !creates_pod(attributes)) return {};
        if (!attributes.object || !attributes.object->is<Pod>() || is_mirror(attributes.object->view<Pod>())) return {};
        std::vector<Given> found = windows_options_in(attributes.object->view<Pod>().spec);
        if (!adds) return found;
        std::set<std::string_view> added;  // there may be thousands
        for (const EphemeralContainer& container : attributes.object->view<Pod>().spec.ephemeral_containers) added.insert(container.name);
        for (const EphemeralContainer& container : attributes.old_object->view<Pod>().spec.ephemeral_containers)
            added.erase(container.name);
        std::erase_if(found, [&](const Given& one) { return !added.contains(one.container); });
        return found;
    }

    Task<> check_given(const AdmissionAttributes& attributes, const schema::Kind& kind, const Given& given, FieldErrors& errors) {
        const WindowsSecurityContextOptions& options = *given.options;
        if (!options.gmsa_credential_spec_name) {
            errors.required(given.path / NameField, std::string("the ") + SpecKind + " that " + ContentsField + " is of");
            co_return {};
        }
        const std::string& wanted = *options.gmsa_credential_spec_name;
        CO_TRY_VOID(co_await check_right(attributes, wanted));
        if (!options.gmsa_credential_spec) co_return {};
        CO_TRY(const std::string contents, contents_of(attributes, kind, given));
        if (!same_contents(*options.gmsa_credential_spec, contents))
            errors.invalid_as_a_whole(given.path / ContentsField,
                                      std::string("does not match the contents of ") + SpecKind + " " + quote(wanted));
        co_return {};
    }

    Task<> check_right(const AdmissionAttributes& attributes, const std::string& wanted) {
        const std::string& account = attributes.object->view<Pod>().spec.service_account_name;
        const AuthorizationAttributes question{.user = service_account_user(attributes.namespace_, account),
                                               .verb = "use",
                                               .is_resource = true,
                                               .group = "windows.k8s.io",
                                               .version = "v1",
                                               .resource = "gmsacredentialspecs",
                                               .namespace_ = attributes.namespace_,
                                               .name = wanted};
        CO_TRY(const Decision decision, co_await authorizer_.authorize(question));
        if (decision.allowed()) co_return {};
        const std::string& why = decision.error.empty() ? decision.reason : decision.error;
        co_return admission_forbidden(attributes, "service account " + quote(account) + " is not authorized to `use` GMSA cred spec " +
                                                      quote(wanted) + (why.empty() ? "" : ", reason: " + quote(why)));
    }

    /// As the runtime gets them. Error: Invalid where there are none.
    Result<std::string> contents_of(const AdmissionAttributes& attributes, const schema::Kind& kind, const Given& given) const {
        const std::string& wanted = *given.options->gmsa_credential_spec_name;
        TRY(const PolicyParameterPtr found, objects_->find(kind, "", wanted));
        const schema::Value* const contents = found ? found->object.find("credspec") : nullptr;
        if (contents && contents->is_object() && !contents->as_object().empty()) return schema::to_json(*contents);
        FieldErrors errors;
        if (!found)
            errors.not_found(given.path / NameField, wanted);
        else
            errors.invalid(given.path / NameField, wanted, "that " + std::string(SpecKind) + " has no credspec");
        return invalid(attributes.kind, attributes.name, errors);
    }

    const PolicyParameters* const objects_;
    Authorizer& authorizer_;
};

}  // namespace

AdmissionPluginPtr make_gmsa_credential_spec(const AdmissionDependencies& given) {
    return std::make_unique<GmsaCredentialSpec>(given.policies.parameters, given.authorizer);
}

}  // namespace porthole::apiserver
