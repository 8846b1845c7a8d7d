#pragma once
#include "client/informer.h"
#include "controllers/framework/context.h"
#include "controllers/stateful_set/identity.h"

namespace porthole::controllers::stateful {

/// The claims of a set's pods: made before the pod, and owned by whoever's end is to be theirs
/// (spec.persistentVolumeClaimRetentionPolicy).
class Claims {
public:
    Claims(client::Client& client, client::EventRecorder& events, client::Informer<PersistentVolumeClaim>& claims)
        : client_(client), events_(events), claims_(claims) {}

    /// Makes those that are missing. Error: that of the first that cannot be made; people are told.
    Task<> ensure(const StatefulSet& set, int ordinal);
    /// Sets owners as the policy says. `pod` may be one that is about to go because the set has become smaller.
    Task<> set_owners(const StatefulSet& set, const Pod& pod, bool scaled_down);

private:
    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<PersistentVolumeClaim>& claims_;
};

}  // namespace porthole::controllers::stateful
