#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/admissionregistration_v1.h"
#include "apiserver/admission/admission.h"
#include "apiserver/storage/object_reader.h"

namespace porthole::apiserver {

/// The selection of requests for a webhook; points into its configuration.
struct WebhookSelection {
    const std::vector<api::admissionregistration::v1::RuleWithOperations>* rules = nullptr;
    const api::meta::v1::LabelSelector* namespace_selector = nullptr;  ///< null for all
    const api::meta::v1::LabelSelector* object_selector = nullptr;     ///< null for all
    bool equivalent = true;                                            ///< matchPolicy
};

/// "CREATE" and so on.
std::string_view operation_name(AdmissionOperation operation);
/// The operation reported to webhooks: as upstream, a Binding or an Eviction is created, although it changes the pod here.
std::string_view operation_of(const AdmissionAttributes& attributes);

/// True for policies and their bindings: no policy sees these requests, so that a broken policy can be removed.
bool is_exempt_from_policies(const AdmissionAttributes& attributes);
/// True for these and for webhook configurations: no webhook sees these requests.
bool is_exempt_from_webhooks(const AdmissionAttributes& attributes);

/// The version of the resource in which the webhook sees the request, or null if it does not match. `served` are the versions of the
/// resource, see KindVersions. Error: NotFound for a missing namespace, if its labels are needed.
Result<const schema::Kind*> match_webhook(const WebhookSelection& selection, const AdmissionAttributes& attributes,
                                          const std::vector<const schema::Kind*>& served, const ObjectReader& reader);

/// The same for the selection of a policy or a binding, whose rules may name objects, and may exclude. Without rules that include, it
/// selects every resource.
Result<const schema::Kind*> match_resources(const api::admissionregistration::v1::MatchResources& selection,
                                            const AdmissionAttributes& attributes, const std::vector<const schema::Kind*>& served,
                                            const ObjectReader& reader);

}  // namespace porthole::apiserver
