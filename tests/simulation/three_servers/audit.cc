#include "simulation/three_servers/audit.h"

#include "client/leader_election.h"
#include "schema/json/json.h"

namespace porthole::simulation {

using store::etcd::WatchEvent;

Audit::Audit(store::etcd::EtcdModel& etcd, const Clock& clock) : clock_(clock) {
    etcd.observe([this](const WatchEvent& event) { see(event); });
}

void Audit::see(const WatchEvent& event) {
    ++changes_;
    const bool deleted = event.type == WatchEvent::Type::Delete;
    // FNV-1a.
    for (const char c : event.kv.key + (deleted ? "-" : "+") + std::to_string(event.kv.mod_revision))
        digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    if (event.kv.key.starts_with("/registry/pods/")) see_pod(event);
    if (event.kv.key.starts_with("/registry/leases/kube-system/kube-")) see_lease(event);
}

void Audit::see_pod(const WatchEvent& event) {
    if (event.type == WatchEvent::Type::Delete) {
        pods_.erase(event.kv.key);
        return;
    }
    const auto object = schema::parse_json(event.kv.value);
    if (!object) return add("no JSON: " + event.kv.key);
    Pod& known = pods_[event.kv.key];
    const std::string uid(object->string_at({"metadata", "uid"})), node(object->string_at({"spec", "nodeName"}));
    const bool same = known.uid == uid;
    if (same && !known.node.empty() && known.node != node)
        add("pod " + event.kv.key + " of " + known.node + " is bound to \"" + node + "\" at " + std::to_string(event.kv.mod_revision));
    known = {uid, node};
}

/// Candidates measure from when they see a renewal, which is not before it was made. One that releases the Lease leaves no holder.
void Audit::see_lease(const WatchEvent& event) {
    if (event.type == WatchEvent::Type::Delete) {
        holders_.erase(event.kv.key);
        return;
    }
    const auto object = schema::parse_json(event.kv.value);
    if (!object) return add("no JSON: " + event.kv.key);
    Holder& known = holders_[event.kv.key];
    const std::string name(object->string_at({"spec", "holderIdentity"}));
    if (!known.name.empty() && !name.empty() && name != known.name && clock_.now() < known.end)
        add("the Lease " + event.kv.key + " goes from " + known.name + " to " + name + " before its time, at " +
            std::to_string(event.kv.mod_revision));
    known = {name, clock_.now() + client::LeaderElector::Timing().lease};
}

}  // namespace porthole::simulation
