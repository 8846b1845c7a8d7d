#include "apiserver/authorization/bootstrap_reconciler.h"

#include <algorithm>

#include "apiserver/authorization/bootstrap_policy.h"
#include "base/result.h"
#include "runtime/scope.h"

namespace porthole::apiserver {
namespace {

using namespace api::rbac::v1;

/// Adds what `wanted` has beyond `stored`. True when something was changed.
template <class Role>
bool complete_role(Role& stored, const Role& wanted) {
    return add_missing_rules(stored.rules, wanted.rules);
}
bool complete(api::rbac::v1::Role& stored, const api::rbac::v1::Role& wanted) { return complete_role(stored, wanted); }
bool complete(ClusterRole& stored, const ClusterRole& wanted) {
    // The rules of an aggregated role are its controller's.
    return !wanted.aggregation_rule && complete_role(stored, wanted);
}

/// What versions before this one bound: a name that users of an issuer without a prefix can have.
template <class Binding>
bool remove_former_subjects(Binding& stored) {
    const auto is_former = [](const Subject& subject) { return subject.kind == "User" && subject.name == "porthole-supervisor"; };
    return stored.metadata.name == "porthole:supervisor" && std::erase_if(stored.subjects, is_former) > 0;
}

template <class Binding>
bool complete_binding(Binding& stored, const Binding& wanted) {
    bool changed = remove_former_subjects(stored);
    for (const Subject& subject : wanted.subjects) {
        if (std::ranges::find(stored.subjects, subject) != stored.subjects.end()) continue;
        stored.subjects.push_back(subject);
        changed = true;
    }
    return changed;
}
bool complete(RoleBinding& stored, const RoleBinding& wanted) { return complete_binding(stored, wanted); }
bool complete(ClusterRoleBinding& stored, const ClusterRoleBinding& wanted) { return complete_binding(stored, wanted); }

bool updates_itself(const api::meta::v1::ObjectMeta& metadata) {
    const auto found = metadata.annotations.find("rbac.authorization.kubernetes.io/autoupdate");
    return found == metadata.annotations.end() || found->second != "false";
}

template <class T>
Task<> reconcile(client::Client& client, T wanted) {
    auto stored = co_await client.get<T>(client::key_of(wanted));
    if (!stored && !is_not_found(stored)) co_return std::move(stored).error();
    if (!stored) {
        auto created = co_await client.create(std::move(wanted));
        if (!created && created.error().reason != Reason::AlreadyExists) co_return std::move(created).error();
        co_return {};
    }
    if (!updates_itself(stored->metadata) || !complete(*stored, wanted)) co_return {};
    CO_TRY_VOID(co_await client.update(std::move(*stored)));
    co_return {};
}

template <class T>
void add_tasks(std::vector<Task<>>& tasks, client::Client& client, std::vector<T> objects) {
    for (T& object : objects) tasks.push_back(reconcile(client, std::move(object)));
}

}  // namespace

Task<> reconcile_bootstrap_policy(client::Client& client) {
    BootstrapPolicy policy = bootstrap_policy();
    std::vector<Task<>> tasks;  // side by side, so that they share the store's group commits
    add_tasks(tasks, client, std::move(policy.cluster_roles));
    add_tasks(tasks, client, std::move(policy.cluster_role_bindings));
    add_tasks(tasks, client, std::move(policy.roles));
    add_tasks(tasks, client, std::move(policy.role_bindings));
    CO_TRY(auto results, co_await when_all(std::move(tasks)));
    for (auto& result : results) CO_TRY_VOID(std::move(result));
    co_return {};
}

}  // namespace porthole::apiserver
