#include "apiserver/subresources/eviction.h"

#include <algorithm>

#include "api/core_v1.h"
#include "api/policy_v1.h"
#include "apiserver/handlers/body.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/request/status.h"
#include "apiserver/validation/label_selector.h"
#include "objects/conditions.h"
#include "objects/pods.h"
#include "schema/convert.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Pod;
using api::core::v1::PodCondition;
using api::policy::v1::Eviction;
using api::policy::v1::PodDisruptionBudget;

constexpr std::size_t DisruptedPodsLimit = 2000;
constexpr int MostLooks = 5;  ///< at a pod that changes while it is being evicted

/// The body, in either version of policy. Old kubectl speaks v1beta1, which differs in its name only.
Result<Eviction> read_eviction(RequestContext& context, const schema::Registry& registry, FieldValidation validation) {
    TRY(schema::Value tree, decode_optional_body(context, registry));
    if (!tree.is_object()) return bad_request("an Eviction is expected");
    const std::string_view version = tree.string_at({"apiVersion"});
    if (version == "policy/v1beta1") tree["apiVersion"] = "policy/v1";
    TRY(const ApiObject object, conform(Eviction::kind(), std::move(tree), validation, context.warnings));
    Eviction eviction = object.view<Eviction>();
    if (!eviction.metadata.name.empty() && eviction.metadata.name != context.info.name)
        return bad_request("name in URL does not match name in Eviction object");
    return eviction;
}

/// Nothing that runs is lost with it.
bool needs_no_budget(const Pod& pod) {
    const std::string& phase = pod.status.phase;
    return phase == "Succeeded" || phase == "Failed" || phase == "Pending" || pod.metadata.deletion_timestamp.has_value();
}

Result<std::vector<PodDisruptionBudget>> budgets_of(ResourceHandler& handler, const Pod& pod) {
    const Resource& resource = handler.resources().of<PodDisruptionBudget>();
    TRY(const store::Range range, handler.objects().store().range({.prefix = resource.prefix_of(pod.metadata.namespace_)}));
    std::vector<PodDisruptionBudget> budgets;
    for (const store::RecordPtr& record : range.records) {
        TRY(PodDisruptionBudget budget, schema::decode_json<PodDisruptionBudget>(*record->value.bytes()));
        if (budget.spec.selector && LabelSelector::from(*budget.spec.selector).matches(pod.metadata.labels))
            budgets.push_back(std::move(budget));
    }
    return budgets;
}

Error refused(const std::string& budget, const std::string& why, int retry_after) {
    Error error(Reason::TooManyRequests, "Cannot evict pod as it would violate the pod's disruption budget.");
    error.details->causes.push_back({"DisruptionBudget", "The disruption budget " + budget + " " + why, ""});
    error.details->retry_after_seconds = retry_after;
    return error;
}
Error refused_for_now(const std::string& budget) { return refused(budget, "is still being processed by the server.", 10); }

/// Why a budget has nothing to give.
std::string exhaustion(const api::policy::v1::PodDisruptionBudgetStatus& status) {
    const auto* allowed = objects::find_condition(status.conditions, "DisruptionAllowed");
    const bool explained = allowed && allowed->status == "False" && !allowed->message.empty();
    // First, because the numbers are out of date then.
    if (explained && allowed->reason == "SyncFailed")
        return "does not allow evicting pods currently because it failed sync: " + allowed->message;
    if (status.current_healthy <= status.desired_healthy)
        return "needs " + std::to_string(status.desired_healthy) + " healthy pods and has " + std::to_string(status.current_healthy) +
               " currently";
    return std::string("does not allow evicting pods currently") +
           (explained ? " (" + allowed->reason + "): " + allowed->message : std::string());
}

/// Whether a pod that is not ready may go without being counted.
bool ignores_unready(const PodDisruptionBudget& budget) {
    if (budget.spec.unhealthy_pod_eviction_policy.value_or("IfHealthyBudget") == "AlwaysAllow") return true;
    return budget.status.current_healthy >= budget.status.desired_healthy && budget.status.desired_healthy > 0;
}

/// The budget with one disruption less to give.
Result<ApiObject> charged(const ApiObject& current, const std::string& pod, Timestamp now) {
    const PodDisruptionBudget& budget = current.view<PodDisruptionBudget>();
    const auto& status = budget.status;
    if (status.observed_generation < budget.metadata.generation) return refused_for_now(budget.metadata.name);
    if (status.disruptions_allowed < 0)
        return forbidden_object(current.kind(), budget.metadata.name, "pdb disruptions allowed is negative");
    if (status.disrupted_pods.size() > DisruptedPodsLimit)
        return forbidden_object(current.kind(), budget.metadata.name,
                                "DisruptedPods map too big - too many evictions not confirmed by PDB controller");
    if (status.disruptions_allowed == 0) return refused(budget.metadata.name, exhaustion(status), 0);
    ApiObject object(current);
    auto& edited = object.edit<PodDisruptionBudget>();
    --edited.status.disruptions_allowed;
    edited.status.disrupted_pods[pod] = now;
    return object;
}

Result<ApiObject> marked_as_disrupted(const ApiObject& current, Timestamp now) {
    ApiObject object(current);
    Pod& pod = object.edit<Pod>();
    objects::set_condition(
        pod.status.conditions,
        {.type = "DisruptionTarget", .status = "True", .reason = "EvictionByEvictionAPI", .message = "Eviction API: evicting"}, now);
    return object;
}

struct Charge {
    bool in_any_state = true;  ///< the pod may go whatever becomes of it meanwhile; else only as it is now, since no budget counts it
    std::string budget;        ///< that selects it
};

Task<Charge> charge_budget(ResourceHandler& handler, RequestContext& context, const Pod& pod, const WriteOptions& options) {
    if (needs_no_budget(pod)) co_return Charge{.in_any_state = pod.metadata.deletion_timestamp.has_value()};
    CO_TRY(const std::vector<PodDisruptionBudget> budgets, budgets_of(handler, pod));
    if (budgets.size() > 1) {
        co_return Error(Reason::InternalError,
                        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
    }
    if (budgets.empty()) co_return Charge{};
    const std::string& name = budgets.front().metadata.name;
    if (!objects::is_ready(pod) && ignores_unready(budgets.front())) co_return Charge{.in_any_state = false, .budget = name};
    WriteRequest request = handler.write_request(context, handler.resources().of<PodDisruptionBudget>(), options);
    request.name = name;
    request.subresource = "status";
    const Timestamp now = handler.now();
    CO_TRY_VOID(co_await handler.objects().mutate(std::move(request),
                                                  [&](const ApiObject& current) { return charged(current, pod.metadata.name, now); }));
    co_return Charge{.budget = name};
}

/// With a version in `deletion` only if the pod is of that version.
Task<> remove_marked(ResourceHandler& handler, WriteRequest request, const Pod& pod, DeleteOptions deletion) {
    if (!needs_no_budget(pod)) {
        const Timestamp now = handler.now();
        const auto mark = [&](const ApiObject& current) -> Result<ApiObject> {
            if (deletion.resource_version && *deletion.resource_version != current.metadata().resource_version)
                return conflict(current.kind(), current.name(), "the object has been modified");
            return marked_as_disrupted(current, now);
        };
        CO_TRY(const Written written, co_await handler.objects().mutate(request, mark));
        if (deletion.resource_version && !request.dry_run) {
            CO_TRY(const schema::Value stored, schema::parse_json(*written.bytes));
            deletion.resource_version = stored.string_at({"metadata", "resourceVersion"});
        }
    }
    request.subresource.clear();
    CO_TRY_VOID(co_await handler.objects().remove(std::move(request), std::move(deletion)));
    co_return {};
}

Task<> evict(ResourceHandler& handler, RequestContext& context, const WriteOptions& options, const DeleteOptions& deletion) {
    const Resource& pods = handler.resources().of<Pod>();
    for (int look = 1;; ++look) {
        CO_TRY(const store::RecordPtr record, co_await handler.objects().get(pods, context.info.namespace_, context.info.name, ""));
        CO_TRY(const Pod pod, schema::decode_json<Pod>(*record->value.bytes()));
        WriteRequest request = handler.write_request(context, pods, options);
        // Before the budget: whoever may not evict the pod must not use up what others may.
        CO_TRY_VOID(co_await handler.objects().check_admission(request, record));
        CO_TRY(const Charge charge, co_await charge_budget(handler, context, pod, options));
        DeleteOptions exactly = deletion;
        const bool guarded = !charge.in_any_state && !deletion.resource_version;
        if (guarded) exactly.resource_version = pod.metadata.resource_version;
        auto removed = co_await remove_marked(handler, std::move(request), pod, std::move(exactly));
        const bool has_changed = guarded && !removed && removed.error().reason == Reason::Conflict;
        if (!has_changed) co_return removed;
        if (look == MostLooks) co_return charge.budget.empty() ? std::move(removed) : refused_for_now(charge.budget);
    }
}

}  // namespace

Task<> handle_eviction(ResourceHandler& handler, RequestContext& context) {
    if (context.info.verb != "create") co_return method_not_allowed();
    CO_TRY(WriteOptions options, parse_write_options(context.info, "CreateOptions", false));
    CO_TRY(const Eviction eviction, read_eviction(context, handler.registry(), options.field_validation));
    const schema::Value body = eviction.delete_options ? schema::to_value(*eviction.delete_options) : schema::Value();
    CO_TRY(const DeleteOptions deletion, parse_delete_options(context.info, body));
    options.dry_run = options.dry_run || deletion.dry_run;

    CO_TRY_VOID(co_await evict(handler, context, options, deletion));
    co_return co_await reply_tree(
        context, 201,
        schema::Value::object(
            {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", schema::Value::object()}, {"status", "Success"}, {"code", 201}}));
}

}  // namespace porthole::apiserver
