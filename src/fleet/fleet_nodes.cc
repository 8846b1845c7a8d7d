#include "fleet/fleet_nodes.h"

#include "api/coordination_v1.h"
#include "base/result.h"
#include "client/backoff.h"
#include "kubelet/node/node_health.h"
#include "objects/conditions.h"
#include "runtime/scope.h"
#include "schema/json/json.h"

namespace porthole::fleet {

using namespace std::chrono_literals;
using schema::Value;
using Lease = api::coordination::v1::Lease;

namespace {

constexpr Duration ShortestPause = 10ms;
constexpr Duration MissedPeriod = 1min;  // how often it is said that heartbeats are late

/// Worth another try: the server may be busy or on its way.
bool is_passing(const Error& error) {
    return error.reason == Reason::Unavailable || error.reason == Reason::ServiceUnavailable || error.reason == Reason::TooManyRequests ||
           error.reason == Reason::Timeout || error.reason == Reason::ServerTimeout;
}

std::string status_patch(const core::NodeStatus& status) {
    Value tree = schema::parse_json(schema::encode_json(status)).value_or(Value());
    return schema::to_json(Value::object({{"status", std::move(tree)}}));
}

}  // namespace

/// What matters of a node as the API has it.
struct FleetNodes::Seen {
    std::string name, uid, pod_cidr;
    bool ready = false, deleting = false;
};

Result<client::InformerCodec::Decoded> FleetNodes::decode(std::string_view json) {
    TRY(core::Node node, schema::decode_json<core::Node>(json));
    auto seen = std::make_shared<Seen>();
    seen->name = node.metadata.name;
    seen->uid = std::move(node.metadata.uid);
    seen->pod_cidr = std::move(node.spec.pod_cidr);
    seen->ready = objects::is_ready(node);
    seen->deleting = node.metadata.deletion_timestamp.has_value();
    return client::InformerCodec::Decoded{std::move(seen), {"", std::move(node.metadata.name)}, std::move(node.metadata.resource_version)};
}

FleetNodes::FleetNodes(client::InformerContext context, const FleetPlan& plan, HeartbeatOptions options)
    : context_(context),
      plan_(plan),
      options_(options),
      nodes_(plan.size()),
      informer_(std::move(context), {core::Node::kind(), false, decode}, {.label_selector = plan.selector()}) {
    const auto seen = [this](const client::InformerCore::Object& object) { observe(*static_cast<const Seen*>(object.get())); };
    informer_.subscribe({.added = seen,
                         .updated = [seen](const auto&, const auto& now) { seen(now); },
                         .deleted =
                             [this](const client::InformerCore::Object& object) {
                                 const Seen& last = *static_cast<const Seen*>(object.get());
                                 const auto number = plan_.find(last.name);
                                 if (number && nodes_[*number].uid == last.uid) nodes_[*number].registered = false;
                             }});
}

void FleetNodes::observe(const Seen& seen) {
    const auto number = plan_.find(seen.name);
    if (!number) return;
    Node& node = nodes_[*number];
    node.uid = seen.uid;
    // The node controller has given it up, or someone has written over its status.
    if (!seen.ready && node.registered) node.reports_now = true;
    if (seen.pod_cidr.empty() || (node.has_cidr && node.pod_cidr.to_string() == seen.pod_cidr)) return;
    const auto range = IpPrefix::parse(seen.pod_cidr);
    if (!range) return;
    node.pod_cidr = *range;
    node.has_cidr = true;
    node.taken.clear();
    node.next = 0;
}

// --- registration

Task<> FleetNodes::register_all() {
    std::size_t next = 0;
    std::vector<Task<>> tasks;
    for (std::size_t i = 0; i < options_.in_flight; ++i) tasks.push_back(register_some(next));
    CO_TRY(const auto results, co_await when_all(std::move(tasks)));
    for (const Result<void>& result : results)
        if (!result) co_return result.error();
    co_return {};
}

Task<> FleetNodes::register_some(std::size_t& next) {
    client::Backoff backoff(context_.random, 200ms, 5s);
    while (next < plan_.size()) {
        const std::size_t number = next++;
        for (;;) {
            auto made = co_await register_node(number);
            if (made) break;
            if (!is_passing(made.error())) {
                next = plan_.size();  // the others need not try
                co_return std::move(made).error();
            }
            context_.log.warn("a node cannot be registered, will retry", {{"node", plan_.name(number)}, {"error", made.error().message}});
            CO_TRY_VOID(co_await context_.loop.sleep(backoff.next()));
        }
        backoff.reset();
    }
    co_return {};
}

Task<> FleetNodes::register_node(std::size_t number) {
    const core::Node wanted = plan_.object(number, context_.loop.wall_now());
    auto made = co_await context_.client.create(wanted);
    const bool there = !made && made.error().reason == Reason::AlreadyExists;
    if (!made && !there) co_return std::move(made).error();
    if (there) {
        CO_TRY(made, co_await context_.client.get<core::Node>({"", wanted.metadata.name}));
        const auto label = made->metadata.labels.find(FleetPlan::Label);
        if (label == made->metadata.labels.end() || label->second != plan_.label_value())
            co_return Error(Reason::AlreadyExists,
                            "node \"" + wanted.metadata.name + "\" already exists and is not of this fleet; choose another --name-prefix");
    }
    Node& node = nodes_[number];
    node.uid = made->metadata.uid;
    node.registered = true;
    node.reports_now = there;
    node.lease_version.clear();
    node.reported = context_.loop.now();
    co_return {};
}

// --- heartbeats

Task<> FleetNodes::run() {
    std::vector<Task<>> tasks;
    tasks.push_back(informer_.run());
    tasks.push_back(pace());
    for (std::size_t i = 0; i < options_.in_flight; ++i) tasks.push_back(work());
    CO_TRY_VOID(co_await when_all(std::move(tasks)));
    co_return {};
}

/// Makes each node due once a period, one after the other, so that the server's load is even.
Task<> FleetNodes::pace() {
    const MonotonicTime started = context_.loop.now();
    const auto count = static_cast<double>(plan_.size());
    const double period = std::chrono::duration<double>(options_.lease_period).count();
    MonotonicTime told = started;
    for (std::uint64_t made_due = 0;;) {
        const MonotonicTime now = context_.loop.now();
        const auto wanted = static_cast<std::uint64_t>(std::chrono::duration<double>(now - started).count() / period * count) + 1;
        for (; made_due < wanted; ++made_due) {
            const std::size_t number = made_due % plan_.size();
            if (nodes_[number].queued) {
                ++missed_;
                continue;
            }
            nodes_[number].queued = true;
            due_.push(number);
        }
        if (now - told >= MissedPeriod && missed_ > told_missed_) {
            context_.log.warn("the server answers too slowly for all heartbeats", {{"missed", missed_ - told_missed_}});
            told_missed_ = missed_;
            told = now;
        }
        const auto gap = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(period / count));
        CO_TRY_VOID(co_await context_.loop.sleep(std::max(gap, ShortestPause)));
    }
}

Task<> FleetNodes::work() {
    for (;;) {
        CO_TRY(const auto number, co_await due_.next());
        if (!number) co_return {};
        auto done = co_await beat(*number);
        nodes_[*number].queued = false;
        if (is_cancelled(done)) co_return std::move(done).error();
        if (!done) context_.log.warn("a heartbeat failed", {{"node", plan_.name(*number)}, {"error", done.error().message}});
    }
}

Task<> FleetNodes::beat(std::size_t number) {
    if (!nodes_[number].registered) CO_TRY_VOID(co_await register_node(number));
    CO_TRY_VOID(co_await renew(number));
    const Node& node = nodes_[number];
    if (node.reports_now || context_.loop.now() - node.reported >= options_.status_period) CO_TRY_VOID(co_await report(number));
    co_return {};
}

/// One request where the lease is as it was left, which is nearly always so.
Task<> FleetNodes::renew(std::size_t number) {
    const std::string name = plan_.name(number);
    Node& node = nodes_[number];
    Lease lease;
    lease.metadata.resource_version = node.lease_version;
    bool fresh = false;
    if (node.lease_version.empty()) {
        auto found = co_await context_.client.get<Lease>({kubelet::NodeLeaseNamespace, name});
        fresh = is_not_found(found);
        if (!found && !fresh) co_return std::move(found).error();
        if (found) lease = std::move(*found);
    }
    Lease wanted = kubelet::renewed_lease(std::move(lease), name, node.uid, context_.loop.wall_now());
    auto written = fresh ? context_.client.create(std::move(wanted)) : context_.client.update(std::move(wanted));
    auto answer = co_await std::move(written);
    if (!answer) {
        node.lease_version.clear();  // the next renewal looks
        const Reason why = answer.error().reason;
        if (why == Reason::Conflict || why == Reason::NotFound || why == Reason::AlreadyExists) co_return {};
        co_return std::move(answer).error();
    }
    node.lease_version = std::move(answer->metadata.resource_version);
    co_return {};
}

Task<> FleetNodes::report(std::size_t number) {
    nodes_[number].reports_now = false;
    core::Node wanted = plan_.object(number, context_.loop.wall_now());
    // As the kubelet, which compares: a condition that has not changed keeps its time, and those of others stay.
    CO_TRY(core::Node there, co_await context_.client.get<core::Node>({"", wanted.metadata.name}));
    const Timestamp now(context_.loop.wall_now());
    for (core::NodeCondition& condition : wanted.status.conditions) {
        const std::string type = condition.type;
        objects::set_condition(there.status.conditions, std::move(condition), now);
        objects::find_condition(there.status.conditions, type)->last_heartbeat_time = now;
    }
    wanted.status.conditions = std::move(there.status.conditions);
    CO_TRY_VOID(co_await context_.client.patch<core::Node>({"", wanted.metadata.name}, client::PatchType::StrategicMerge,
                                                           status_patch(wanted.status), "status"));
    nodes_[number].reported = context_.loop.now();
    co_return {};
}

// --- the end

Task<> FleetNodes::remove_all() {
    std::size_t next = 0;
    std::vector<Task<>> tasks;
    for (std::size_t i = 0; i < options_.in_flight; ++i) tasks.push_back(remove_some(next));
    CO_TRY(const auto results, co_await when_all(std::move(tasks)));
    for (const Result<void>& result : results)
        if (!result) co_return result.error();
    co_return {};
}

Task<> FleetNodes::remove_some(std::size_t& next) {
    while (next < plan_.size()) {
        const std::size_t number = next++;
        if (nodes_[number].uid.empty()) continue;
        client::DeleteOptions options;
        options.uid = nodes_[number].uid;
        auto removed = co_await context_.client.remove<core::Node>({"", plan_.name(number)}, std::move(options));
        const bool other = !removed && removed.error().reason == Reason::Conflict;  // of another uid: not ours
        if (!removed && !other && !is_not_found(removed)) co_return std::move(removed).error();
    }
    co_return {};
}

// --- addresses of pods

std::optional<std::uint32_t> FleetNodes::distance(const Node& node, const std::string& address) const {
    const auto parsed = IpAddress::parse(address);
    if (!node.has_cidr || !parsed || !parsed->is_v4() || !node.pod_cidr.contains(*parsed)) return std::nullopt;
    return parsed->v4_number() - node.pod_cidr.base().v4_number();
}

std::optional<std::string> FleetNodes::take_address(std::size_t number) {
    Node& node = nodes_[number];
    if (!node.has_cidr || !node.pod_cidr.base().is_v4()) return std::nullopt;
    const std::uint64_t size = std::uint64_t{1} << (32 - node.pod_cidr.length());
    if (size < 4) return std::nullopt;
    // The base, the bridge's address after it and the broadcast address are not for pods.
    const auto usable = static_cast<std::uint32_t>(size - 3);
    for (std::uint32_t tried = 0; tried < usable && node.taken.size() < usable; ++tried) {
        const std::uint32_t at = 2 + node.next;
        node.next = (node.next + 1) % usable;
        if (node.taken.insert(at).second) return node.pod_cidr.base().plus(at).to_string();
    }
    return std::nullopt;
}

void FleetNodes::keep_address(std::size_t number, const std::string& address) {
    if (const auto at = distance(nodes_[number], address)) nodes_[number].taken.insert(*at);
}

void FleetNodes::release_address(std::size_t number, const std::string& address) {
    if (const auto at = distance(nodes_[number], address)) nodes_[number].taken.erase(*at);
}

}  // namespace porthole::fleet
