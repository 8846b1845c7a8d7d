#include "apiserver/flow_control_configuration.h"

#include <algorithm>

#include "apiserver/flow_control/default_configuration.h"
#include "base/result.h"
#include "objects/conditions.h"
#include "runtime/scope.h"

namespace porthole::apiserver {
namespace {

using namespace api::flowcontrol::v1;

constexpr const char* GroupPrefix = "/registry/flowcontrol.apiserver.k8s.io/";
constexpr Duration EnsureAfter = std::chrono::minutes(1);

/// What the annotation says; nothing when it is missing or is no truth value.
std::optional<bool> automatic(const api::meta::v1::ObjectMeta& metadata) {
    const auto found = metadata.annotations.find(AutoUpdateSpecAnnotation);
    if (found == metadata.annotations.end()) return {};
    for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"})
        if (found->second == yes) return true;
    for (const char* no : {"0", "f", "F", "false", "FALSE", "False"})
        if (found->second == no) return false;
    return {};
}

bool is_updated(const api::meta::v1::ObjectMeta& metadata) {
    return is_mandatory_name(metadata.name) || automatic(metadata).value_or(metadata.generation == 1);
}

void take_spec(FlowSchema& stored, const FlowSchema& wanted) { stored.spec = wanted.spec; }
void take_spec(PriorityLevelConfiguration& stored, const PriorityLevelConfiguration& wanted) {
    // What exempt requests lend is the administrator's: it is the one part of a mandatory object that may be changed.
    auto exempt = std::move(stored.spec.exempt);
    stored.spec = wanted.spec;
    if (exempt && stored.spec.exempt) stored.spec.exempt = std::move(exempt);
}

template <class T>
Task<> ensure(client::Client& client, const ObjectMap<T>& stored, T wanted) {
    const auto found = stored.find(wanted.metadata.name);
    if (found == stored.end()) {
        auto created = co_await client.create(std::move(wanted));
        if (!created && created.error().reason != Reason::AlreadyExists) co_return std::move(created).error();
        co_return {};
    }
    T corrected = *found->second;
    const bool updated = is_updated(corrected.metadata);
    if (automatic(corrected.metadata) != updated) corrected.metadata.annotations[AutoUpdateSpecAnnotation] = updated ? "true" : "false";
    if (updated) take_spec(corrected, wanted);
    if (corrected == *found->second) co_return {};
    auto written = co_await client.update(std::move(corrected));
    if (!written && written.error().reason != Reason::Conflict && !is_not_found(written)) co_return std::move(written).error();
    co_return {};
}

template <class T>
Task<> remove(client::Client& client, std::string name) {
    auto removed = co_await client.remove<T>({.namespace_ = {}, .name = std::move(name)});
    if (!removed && !is_not_found(removed)) co_return std::move(removed).error();
    co_return {};
}

template <class T>
void add_tasks(std::vector<Task<>>& tasks, client::Client& client, const ObjectMap<T>& stored, const std::vector<T>& defaults) {
    for (const T& wanted : defaults) tasks.push_back(ensure(client, stored, wanted));
    for (const auto& [name, object] : stored) {
        const bool is_default = std::ranges::any_of(defaults, [&](const T& one) { return one.metadata.name == name; });
        if (!is_default && automatic(object->metadata) == true) tasks.push_back(remove<T>(client, name));
    }
}

/// Yields whether the condition is to be written.
bool set_dangling(FlowSchemaStatus& status, const std::string& level, bool dangling, Timestamp now) {
    const std::string about = "This FlowSchema references the PriorityLevelConfiguration object named \"" + level + "\" ";
    return objects::set_condition(status.conditions,
                                  FlowSchemaCondition{.type = "Dangling",
                                                      .status = dangling ? ConditionStatus::True : ConditionStatus::False,
                                                      .last_transition_time = {},
                                                      .reason = dangling ? "NotFound" : "Found",
                                                      .message = about + (dangling ? "but there is no such object" : "and it exists")},
                                  now);
}

template <class T>
std::vector<T> values(const ObjectMap<T>& objects) {
    std::vector<T> all;
    for (const auto& [name, object] : objects) all.push_back(*object);
    return all;
}

}  // namespace

FlowControlConfiguration::FlowControlConfiguration(EventLoop& loop, store::Store& store, Logger log, FlowControl* flow_control)
    : loop_(loop), store_(store), log_(log), flow_control_(flow_control), levels_(store, log), schemas_(store, log) {}

Result<void> FlowControlConfiguration::load() {
    revision_ = store_.revision();
    TRY_VOID(levels_.load());
    TRY_VOID(schemas_.load());
    if (flow_control_) flow_control_->configure(values(levels_.objects()), values(schemas_.objects()));
    return {};
}

Task<> FlowControlConfiguration::ensure_defaults(client::Client& client) {
    CO_TRY_VOID(load());
    std::vector<Task<>> tasks;  // at once, so that they share the store's group commits
    add_tasks(tasks, client, levels_.objects(), default_priority_levels());
    add_tasks(tasks, client, schemas_.objects(), default_flow_schemas());
    CO_TRY(auto results, co_await when_all(std::move(tasks)));
    for (auto& result : results) CO_TRY_VOID(std::move(result));
    co_return load();
}

Task<> FlowControlConfiguration::keep_defaults(client::Client& client) {
    for (;;) {
        CO_TRY_VOID(co_await changed_.wait());
        changed_.reset();
        CO_TRY_VOID(co_await loop_.sleep(EnsureAfter));
        auto kept = co_await ensure_defaults(client);
        if (kept) continue;
        if (is_cancelled(kept)) co_return std::move(kept);
        changed_.set();
        log_.warn("the defaults of priority and fairness cannot be kept", {{"error", kept.error().message}});
    }
}

Task<> FlowControlConfiguration::follow(client::Client& client) {
    for (;;) {
        CO_TRY_VOID(load());
        CO_TRY_VOID(co_await write_conditions(client));
        auto watch = store_.watch({.prefix = GroupPrefix, .after = revision_});
        if (watch) CO_TRY_VOID(co_await take_changes(*watch, client));
    }
}

/// Ends well when the watch has expired. Whatever changes, everything is read again: the objects are few and mean something together only.
Task<> FlowControlConfiguration::take_changes(store::Watch& watch, client::Client& client) {
    for (;;) {
        auto events = co_await watch.next();
        if (!events && events.error().reason == Reason::Expired) co_return {};
        if (!events) co_return std::move(events).error();
        changed_.set();
        CO_TRY_VOID(load());
        CO_TRY_VOID(co_await write_conditions(client));
    }
}

Task<> FlowControlConfiguration::write_conditions(client::Client& client) {
    if (!flow_control_) co_return {};
    std::vector<Task<>> tasks;
    for (const auto& [name, schema] : schemas_.objects()) {
        FlowSchema wanted = *schema;
        const std::string& level = wanted.spec.priority_level_configuration.name;
        const bool dangling = !flow_control_->has_level(level);
        if (set_dangling(wanted.status, level, dangling, Timestamp(loop_.wall_now())))
            tasks.push_back(write_condition(client, std::move(wanted)));
    }
    CO_TRY(auto results, co_await when_all(std::move(tasks)));
    for (auto& result : results) CO_TRY_VOID(std::move(result));
    co_return {};
}

Task<> FlowControlConfiguration::write_condition(client::Client& client, FlowSchema schema) {
    const std::string name = schema.metadata.name;
    auto written = co_await client.update_status(std::move(schema));
    if (written || written.error().reason == Reason::Conflict || is_not_found(written)) co_return {};  // what has changed comes as an event
    if (is_cancelled(written)) co_return std::move(written).error();
    log_.warn("the condition of a FlowSchema cannot be written", {{"name", name}, {"error", written.error().message}});
    co_return {};
}

}  // namespace porthole::apiserver
