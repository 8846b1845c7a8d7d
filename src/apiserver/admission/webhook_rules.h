#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/admissionregistration_v1.h"
#include "apiserver/admission/admission.h"
#include "apiserver/storage/object_reader.h"

namespace porthole::apiserver {

/// What selects requests for a webhook; points into its configuration.
struct WebhookSelection {
    const std::vector<api::admissionregistration::v1::RuleWithOperations>* rules = nullptr;
    const api::meta::v1::LabelSelector* namespace_selector = nullptr;  ///< null for all
    const api::meta::v1::LabelSelector* object_selector = nullptr;     ///< null for all
    bool equivalent = true;                                            ///< matchPolicy
};

/// "CREATE" and so on.
std::string_view operation_name(AdmissionOperation operation);
/// The operation that webhooks are told: a Binding or an Eviction is created, as upstream does it, although it changes the pod here.
std::string_view operation_of(const AdmissionAttributes& attributes);

/// Configurations of admission themselves: no webhook sees their requests, so that a broken one can be removed.
bool is_exempt_from_webhooks(const AdmissionAttributes& attributes);

/// The version of the resource in which the webhook wants to see the request, or null when it does not want to. `served` are the
/// versions of the resource, see KindVersions. Error: NotFound for a namespace that is missing, whose labels are asked for.
Result<const schema::Kind*> match_webhook(const WebhookSelection& selection, const AdmissionAttributes& attributes,
                                          const std::vector<const schema::Kind*>& served, const ObjectReader& reader);

/// The same for what selects requests for a policy or a binding: its rules may name objects, and some rules exclude. Without rules that
/// include it selects every resource.
Result<const schema::Kind*> match_resources(const api::admissionregistration::v1::MatchResources& selection,
                                            const AdmissionAttributes& attributes, const std::vector<const schema::Kind*>& served,
                                            const ObjectReader& reader);

}  // namespace porthole::apiserver
