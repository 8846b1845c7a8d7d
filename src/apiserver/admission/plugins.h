#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/admissionregistration_v1.h"
#include "apiserver/admission/admission.h"
#include "apiserver/admission/condition_metrics.h"
#include "apiserver/admission/kind_versions.h"
#include "apiserver/admission/webhook_metrics.h"
#include "apiserver/authorization/rbac.h"
#include "apiserver/outgoing/outgoing_client.h"
#include "apiserver/storage/mirror.h"
#include "apiserver/storage/object_reader.h"
#include "runtime/event_loop.h"
#include "runtime/random.h"
#include "runtime/worker_pool.h"
#include "windows/support.h"

namespace porthole::apiserver {

using AdmissionPluginPtr = std::unique_ptr<AdmissionPlugin>;
/// Which systems the cluster's nodes run.
using SystemsOfNodes = std::function<windows::Systems()>;
/// The value of a label of a node; nullopt if there is no such node or label.
using LabelOfNode = std::function<std::optional<std::string>(const std::string& node, std::string_view label)>;

/// The configurations of plugins by their names, as --admission-control-config-file has them.
using AdmissionConfigurations = std::map<std::string, schema::Value>;

/// The collaborators of plugins that call webhooks. All outlive them; null if a server has no webhooks.
struct AdmissionWebhooks {
    const ObjectMap<api::admissionregistration::v1::MutatingWebhookConfiguration>* mutating = nullptr;
    const ObjectMap<api::admissionregistration::v1::ValidatingWebhookConfiguration>* validating = nullptr;
    const KindVersions* versions = nullptr;
    AdmissionWebhookMetrics* metrics = nullptr;
};

class PolicyParameters;
class AdmissionPolicyMetrics;

/// The collaborators of plugins that evaluate policies. All outlive them; null if a server has no policies.
struct AdmissionPolicies {
    const ObjectMap<api::admissionregistration::v1::ValidatingAdmissionPolicy>* validating = nullptr;
    const ObjectMap<api::admissionregistration::v1::ValidatingAdmissionPolicyBinding>* validating_bindings = nullptr;
    const ObjectMap<api::admissionregistration::v1::MutatingAdmissionPolicy>* mutating = nullptr;
    const ObjectMap<api::admissionregistration::v1::MutatingAdmissionPolicyBinding>* mutating_bindings = nullptr;
    const PolicyParameters* parameters = nullptr;
    AdmissionPolicyMetrics* metrics = nullptr;
};

/// The collaborators of plugins. The references outlive them.
struct AdmissionDependencies {
    const ObjectReader& reader;
    const RbacAuthorizer& rbac;
    Authorizer& authorizer;
    Random& random;
    EventLoop& loop;
    SystemsOfNodes systems;
    LabelOfNode label_of_node;
    OutgoingClients* outgoing = nullptr;  ///< client of webhooks; null if there is none
    const AdmissionConfigurations* configurations = nullptr;
    AdmissionWebhooks webhooks = {};
    AdmissionPolicies policies = {};
    AdmissionConditionMetrics* condition_metrics = nullptr;
    bool windows_strict = false;  ///< refuse pods that Windows nodes would refuse, or of which they would ignore a field
    bool identify_pod_os = true;  ///< pods have spec.os
    WorkerPool* pool = nullptr;   ///< where costly expressions are evaluated; null: on the loop

    /// The configuration of a plugin; null if it has none.
    const schema::Value* configuration_of(const std::string& plugin) const {
        if (!configurations) return nullptr;
        const auto found = configurations->find(plugin);
        return found == configurations->end() ? nullptr : &found->second;
    }
};

/// Which plugins run, and how: upstream's flags.
struct AdmissionOptions {
    std::vector<std::string> enabled, disabled;  ///< as --enable-admission-plugins and --disable-admission-plugins name them
    AdmissionConfigurations configurations;
    bool windows_strict = false;  ///< as --windows-strict-admission
    bool identify_pod_os = true;  ///< the feature gate IdentifyPodOS: without it spec.os of new pods is dropped
};

/// Reads the file at `path`: an AdmissionConfiguration (apiserver.config.k8s.io/v1), or the file without a version that PodNodeSelector and
/// ImagePolicyWebhook also accept. Errors: BadRequest or those of the file, with its path.
Result<AdmissionConfigurations> read_admission_configurations(FileSystem& files, const std::string& path);

#define PORTHOLE_ADMISSION_PLUGIN(name, Name, when) AdmissionPluginPtr make_##name(const AdmissionDependencies& given);
#define PORTHOLE_CONFIGURED_ADMISSION_PLUGIN(name, Name, when) Result<AdmissionPluginPtr> make_##name(const AdmissionDependencies& given);
#include "apiserver/admission/plugins.def"

/// The enabled plugins of plugins.def, in their order; `dependencies.configurations` is replaced by those of the options. Error: BadRequest
/// for an unknown name, one that is both enabled and disabled, and an invalid configuration.
Result<AdmissionChain> make_admission_chain(AdmissionDependencies dependencies, const AdmissionOptions& options = {});

/// The names for --help: of the plugins that are enabled by default, and of those that can be enabled.
std::string admission_plugin_help();

}  // namespace porthole::apiserver
