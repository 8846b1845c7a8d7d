#include "apiserver/aggregation/aggregator.h"

#include <algorithm>
#include <set>

#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "apiserver/aggregation/extension_proxy.h"
#include "base/metrics_text.h"
#include "base/result.h"
#include "base/strings.h"
#include "objects/conditions.h"

namespace porthole::apiserver {
namespace {

using namespace api::apiregistration::v1;
using namespace std::chrono_literals;

constexpr Duration CheckEvery = 30s, FirstRetry = 1s, FetchEvery = 60s, SyncRetry = 1s;

bool is_available(const APIService& object) {
    return objects::is_condition_true(object.status.conditions, APIServiceConditionType::Available);
}

/// The core group and that of APIServices itself stay here: a mistake there could not be undone.
bool can_be_remote(std::string_view group) { return !group.empty() && group != APIService::kind().group; }

/// A version in the order of discovery.
struct Placed {
    std::string name, group;
    ApiPriority priority;
    schema::DiscoveredVersion version;
};

std::vector<schema::DiscoveredGroup> in_order(std::vector<Placed> all) {
    std::ranges::sort(all, [](const Placed& left, const Placed& right) {
        return left.priority.group != right.priority.group ? left.priority.group > right.priority.group : left.name < right.name;
    });
    std::vector<std::pair<std::string, std::vector<Placed*>>> groups;
    std::map<std::string_view, std::size_t> places;
    for (Placed& one : all) {
        const auto [place, is_new] = places.emplace(one.group, groups.size());
        if (is_new) groups.push_back({one.group, {}});
        groups[place->second].second.push_back(&one);
    }
    std::vector<schema::DiscoveredGroup> ordered;
    for (auto& [name, versions] : groups) {
        std::ranges::sort(versions, [](const Placed* left, const Placed* right) {
            return is_preferred(left->version.version, left->priority.version, right->version.version, right->priority.version);
        });
        schema::DiscoveredGroup group{.name = name, .versions = {}};
        for (Placed* one : versions) group.versions.push_back(std::move(one->version));
        ordered.push_back(std::move(group));
    }
    return ordered;
}

}  // namespace

/// A group version that another server serves.
struct Aggregator::Remote {
    std::shared_ptr<const APIService> object;
    bool gone = false;
    Event wake;
    std::optional<APIServiceCondition> found;  ///< when it was last looked at
    std::size_t failures = 0;                  ///< in a row
    RemoteResources resources;                 ///< null until they have been fetched once
    std::string openapi_v3_hash;               ///< "" where the server has no such document
    RemoteOpenApi openapi_v2;
    bool stale = true;
    std::optional<MonotonicTime> fetched;  ///< when, and of this spec
};

Aggregator::Aggregator(Seams seams)
    : seams_(std::move(seams)),
      reader_(seams_.store),
      pseudonym_("kube-aggregator-" + seams_.random.uuid()),
      servers_(seams_.outgoing, reader_, seams_.random),
      objects_(seams_.store, seams_.log),
      local_(seams_.registry, objects_.objects()),
      scope_(seams_.loop, [this](const Error& error) { seams_.log.error("a background task failed", {{"error", error.message}}); }) {}

Aggregator::~Aggregator() = default;

void Aggregator::use_client_certificate(std::string certificate_pem, std::string key_pem) {
    servers_.use_client_certificate(std::move(certificate_pem), std::move(key_pem));
}

void Aggregator::start(client::Client& client) {
    client_ = &client;
    for (const auto& [name, object] : objects_.objects()) settle(name);
    scope_.spawn(follow_objects());
    scope_.spawn(keep_local(client));
    scope_.spawn(follow_services(kind_prefix(api::core::v1::Service::kind())));
    scope_.spawn(follow_services(kind_prefix(api::discovery::v1::EndpointSlice::kind())));
}

Task<> Aggregator::close() { return scope_.close(); }

// --- Objects ---

std::shared_ptr<const APIService> Aggregator::find_remote(std::string_view group, std::string_view version) const {
    if (!can_be_remote(group)) return nullptr;
    const auto found = objects_.objects().find(api_service_name(group, version));
    return found != objects_.objects().end() && found->second->spec.service ? found->second : nullptr;
}

Task<> Aggregator::follow_objects() {
    return objects_.follow([this](std::string_view name) { object_changed(name); });
}

void Aggregator::object_changed(std::string_view name) {
    if (!name.empty()) {
        settle(std::string(name));
    } else {
        std::set<std::string> names;
        for (const auto& [one, object] : objects_.objects()) names.insert(one);
        for (const auto& [one, remote] : remotes_) names.insert(one);
        for (const std::string& one : names) settle(one);
    }
    local_changed_.set();
    seams_.changed();
}

void Aggregator::settle(const std::string& name) {
    const auto found = objects_.objects().find(name);
    const auto object = found == objects_.objects().end() ? nullptr : found->second;
    const auto known = remotes_.find(name);
    if (!object || !find_remote(object->spec.group, object->spec.version)) {
        if (known == remotes_.end()) return;
        known->second->gone = true;
        known->second->wake.set();
        remotes_.erase(known);
        return;
    }
    if (known == remotes_.end()) {
        auto remote = std::make_shared<Remote>();
        remote->object = object;
        remotes_.emplace(name, remote);
        return scope_.spawn(look_after(std::move(remote)));
    }
    Remote& remote = *known->second;
    const bool is_new = remote.object->spec != object->spec || remote.object->metadata.uid != object->metadata.uid;
    remote.object = object;
    if (is_new) {
        remote.fetched.reset();
        remote.openapi_v3_hash.clear();
        remote.openapi_v2 = {};
    }
    const auto* written = objects::find_condition(object->status.conditions, APIServiceConditionType::Available);
    const bool as_found = written && remote.found && written->status == remote.found->status && written->reason == remote.found->reason;
    if (is_new || !as_found) remote.wake.set();
}

Task<> Aggregator::keep_local(client::Client& client) {
    for (;;) {
        CO_TRY_VOID(co_await local_changed_.wait());
        local_changed_.reset();
        auto kept = co_await local_.sync(client);
        if (is_cancelled(kept)) co_return std::move(kept);
        if (kept) continue;
        seams_.log.warn("the APIServices of this server cannot be kept", {{"error", kept.error().message}});
        local_changed_.set();
        CO_TRY_VOID(co_await seams_.loop.sleep(SyncRetry));
    }
}

Task<> Aggregator::follow_services(std::string prefix) {
    for (;;) {
        CO_TRY(auto watch, seams_.store.watch({.prefix = prefix, .after = seams_.store.revision()}));
        for (;;) {
            auto events = co_await watch.next();
            if (!events && events.error().reason != Reason::Expired) co_return std::move(events).error();
            for (auto& [name, remote] : remotes_) {
                const std::string of = prefix + remote->object->spec.service->namespace_ + "/";
                if (!events || std::ranges::any_of(*events, [&](const auto& event) { return event->record->key.starts_with(of); }))
                    remote->wake.set();
            }
            if (!events) break;
        }
    }
}

// --- Availability and resources ---

Task<> Aggregator::look_after(std::shared_ptr<Remote> remote) {
    while (!remote->gone) {
        remote->wake.reset();
        CO_TRY(const Duration next, co_await look(remote));
        if (remote->gone) break;
        const auto woken = co_await with_timeout(remote->wake.wait(), next, "next look at an extension server");
        if (is_cancelled(woken)) co_return woken.error();
    }
    seams_.changed();
    co_return {};
}

Task<Duration> Aggregator::look(std::shared_ptr<Remote> remote) {
    const auto object = remote->object;
    CO_TRY(APIServiceCondition condition, co_await check_availability(servers_, reader_, object));
    const bool available = condition.status == ConditionStatus::True;
    // Who is told that it is available finds in discovery what it serves.
    CO_TRY_VOID(co_await refresh(remote, available));
    // What has been found is of another spec.
    if (remote->gone || remote->object->spec != object->spec) co_return Duration::zero();
    remote->failures = available ? 0 : remote->failures + 1;
    remote->found = condition;
    CO_TRY_VOID(co_await write_condition(remote, std::move(condition)));
    if (available) co_return CheckEvery;
    co_return std::min(CheckEvery, FirstRetry * (1 << std::min<std::size_t>(remote->failures - 1, 5)));
}

Task<> Aggregator::refresh(std::shared_ptr<Remote> remote, bool available) {
    const bool was_stale = remote->stale;
    const auto before = remote->resources;
    const auto hash_before = remote->openapi_v3_hash;
    const auto part_before = remote->openapi_v2.part;
    if (!available) {
        remote->stale = true;
    } else if (was_stale || !remote->fetched || seams_.loop.now() - *remote->fetched >= FetchEvery) {
        const auto object = remote->object;
        auto fetched = co_await fetch_resources(servers_, object);
        if (is_cancelled(fetched)) co_return fetched.error();
        auto hash = co_await fetch_openapi_hash(servers_, object);
        if (is_cancelled(hash)) co_return hash.error();
        auto openapi_v2 = co_await fetch_openapi(servers_, object, remote->openapi_v2);
        if (is_cancelled(openapi_v2)) co_return openapi_v2.error();
        // What is not answered in time stays as it is known, or every client's documents would change twice.
        const bool all = hash.has_value() && openapi_v2.has_value();
        if (hash) remote->openapi_v3_hash = *std::move(hash);
        if (openapi_v2) remote->openapi_v2 = *std::move(openapi_v2);
        remote->stale = !fetched;
        if (fetched && !(before && **fetched == *before)) remote->resources = *std::move(fetched);
        if (all && remote->object->spec == object->spec) remote->fetched = seams_.loop.now();
    }
    if (remote->stale != was_stale || remote->resources != before || remote->openapi_v3_hash != hash_before ||
        remote->openapi_v2.part != part_before)
        seams_.changed();
    co_return {};
}

Task<> Aggregator::write_condition(std::shared_ptr<Remote> remote, APIServiceCondition condition) {
    APIService object = *remote->object;
    const APIServiceCondition now = condition;
    if (!objects::set_condition(object.status.conditions, std::move(condition), Timestamp(seams_.loop.wall_now()))) co_return {};
    count(*remote->object, now);
    auto written = co_await client_->update_status(std::move(object));
    if (written || written.error().reason == Reason::Conflict || is_not_found(written)) co_return {};  // what has changed comes as an event
    if (is_cancelled(written)) co_return std::move(written).error();
    seams_.log.warn("the condition of an APIService cannot be written",
                    {{"name", remote->object->metadata.name}, {"error", written.error().message}});
    co_return {};
}

void Aggregator::count(const APIService& object, const APIServiceCondition& now) {
    if (is_available(object) && now.status != ConditionStatus::True) unavailable_.add(object.metadata.name, now.reason);
}

// --- Requests and documents ---

Task<> Aggregator::handle(RequestContext& context) {
    auto object = find_remote(context.info.group, context.info.version);
    CHECK(object);
    return pass_to_extension_server(context, servers_, std::move(object), pseudonym_, seams_.loop);
}

std::shared_ptr<const APIService> Aggregator::find_document(std::string_view path) const {
    constexpr std::string_view Root = "/openapi/v3/apis/";
    if (!path.starts_with(Root)) return nullptr;
    const std::vector<std::string_view> parts = split_views(path.substr(Root.size()), '/');
    auto object = parts.size() == 2 ? find_remote(parts[0], parts[1]) : nullptr;
    const auto remote = object ? remotes_.find(object->metadata.name) : remotes_.end();
    const bool converted = remote != remotes_.end() && remote->second->openapi_v2.part && remote->second->openapi_v3_hash.empty();
    return converted && is_available(*object) ? nullptr : object;
}

Task<> Aggregator::handle_document(RequestContext& context) {
    auto object = find_document(context.info.path);
    CHECK(object);
    return pass_document(context, servers_, std::move(object), pseudonym_);
}

schema::OpenApi::Others Aggregator::documents() const {
    schema::OpenApi::Others others;
    for (const auto& [name, remote] : remotes_) {
        if (!is_available(*remote->object)) continue;
        const std::string path = openapi_path(*remote->object);
        if (!remote->openapi_v3_hash.empty()) others.v3_hashes[path] = remote->openapi_v3_hash;
        if (remote->openapi_v2.part) others.v2_parts[path] = remote->openapi_v2.part;
    }
    return others;
}

std::vector<schema::DiscoveredGroup> Aggregator::groups() const {
    std::vector<schema::DiscoveredGroup> core;
    std::vector<Placed> placed;
    std::set<std::string> served;
    for (schema::DiscoveredGroup& group : schema::served_groups(seams_.registry)) {
        if (group.name.empty()) {
            core.push_back(std::move(group));
            continue;
        }
        for (schema::DiscoveredVersion& version : group.versions) {
            const std::string name = api_service_name(group.name, version.version);
            served.insert(name);
            const auto object = objects_.objects().find(name);
            if (object != objects_.objects().end() && can_be_remote(group.name)) continue;  // below
            placed.push_back({name, group.name, local_.priority_of(group.name, version.version), std::move(version)});
        }
    }
    for (const auto& [name, object] : objects_.objects()) {
        const APIServiceSpec& spec = object->spec;
        if (!can_be_remote(spec.group)) continue;
        if (!spec.service && !served.contains(name)) continue;
        schema::DiscoveredVersion version{.version = spec.version};
        if (spec.service) {
            const auto remote = remotes_.find(name);
            version.remote = true;
            version.stale = remote == remotes_.end() || remote->second->stale;
            if (remote != remotes_.end()) version.resources = remote->second->resources;
        }
        placed.push_back({name, spec.group, {spec.group_priority_minimum, spec.version_priority}, std::move(version)});
    }
    std::vector<schema::DiscoveredGroup> all = in_order(std::move(placed));
    all.insert(all.begin(), std::make_move_iterator(core.begin()), std::make_move_iterator(core.end()));
    return all;
}

void Aggregator::append_metrics(std::string& out) const {
    const MetricFamily unavailable(out, "aggregator_unavailable_apiservice", "gauge",
                                   "Gauge of APIServices which are marked as unavailable broken down by APIService name.");
    for (const auto& [name, object] : objects_.objects()) unavailable.add(metric_label("name", name), is_available(*object) ? 0 : 1);
    unavailable_.append(out);
}

}  // namespace porthole::apiserver
