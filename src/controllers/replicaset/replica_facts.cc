#include "controllers/replicaset/replica_facts.h"

#include <charconv>

#include "objects/conditions.h"
#include "objects/owners.h"
#include "objects/pods.h"

namespace porthole::controllers {

namespace {

// No label has them.
constexpr char End = '\0', Assign = '\1', Next = '\2';

std::string key_prefix(const std::string& namespace_, const std::string& owner_uid) { return namespace_ + '/' + owner_uid + End; }

std::string text_of(const ReplicaFacts& facts) {
    std::string text{static_cast<char>(facts.life), facts.ready ? 'r' : 'u'};
    text += std::to_string(facts.ready_since);
    for (const auto& [key, value] : facts.labels) text.append(1, Next).append(key).append(1, Assign).append(value);
    return text;
}

ReplicaFacts::Life life_of(const api::core::v1::Pod& pod) {
    if (objects::is_terminal(pod)) return ReplicaFacts::Life::Over;
    return objects::is_terminating(pod) ? ReplicaFacts::Life::Terminating : ReplicaFacts::Life::Active;
}

}  // namespace

ReplicaFacts ReplicaFacts::of(const api::core::v1::Pod& pod) {
    ReplicaFacts facts{.life = life_of(pod), .ready = objects::is_ready(pod), .labels = pod.metadata.labels};
    if (!facts.ready) return facts;
    const Timestamp since = objects::find_condition(pod.status.conditions, "Ready")->last_transition_time;
    if (!since.is_zero()) facts.ready_since = std::chrono::floor<std::chrono::seconds>(since.to_system_time()).time_since_epoch().count();
    return facts;
}

std::vector<std::string> replica_keys(const api::core::v1::Pod& pod) {
    const auto* owner = objects::find_controller(pod.metadata);
    if (!owner || (owner->kind != "ReplicaSet" && owner->kind != "ReplicationController")) return {};
    // A reference may name anything, but must not look like the facts of another owner's pod.
    if (owner->uid.contains(End)) return {};
    return {key_prefix(pod.metadata.namespace_, owner->uid) + text_of(ReplicaFacts::of(pod))};
}

std::string replica_key_prefix(const api::meta::v1::ObjectMeta& owner) { return key_prefix(owner.namespace_, owner.uid); }

std::optional<ReplicaFacts> parse_replica_facts(std::string_view text) {
    if (text.size() < 3) return std::nullopt;
    ReplicaFacts facts{.life = static_cast<ReplicaFacts::Life>(text[0]), .ready = text[1] == 'r'};
    const auto [rest, error] = std::from_chars(text.data() + 2, text.data() + text.size(), facts.ready_since);
    if (error != std::errc()) return std::nullopt;
    std::string_view labels(rest, text.data() + text.size());
    while (!labels.empty()) {
        labels.remove_prefix(1);
        const std::string_view label = labels.substr(0, labels.find(Next));
        const std::size_t middle = label.find(Assign);
        if (middle == label.npos) return std::nullopt;
        facts.labels.emplace(label.substr(0, middle), label.substr(middle + 1));
        labels.remove_prefix(label.size());
    }
    return facts;
}

}  // namespace porthole::controllers
