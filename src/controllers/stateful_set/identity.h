#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/apps_v1.h"
#include "api/core_v1.h"
#include "client/informers/informer.h"
#include "controllers/framework/context.h"

namespace porthole::controllers::stateful {

using api::apps::v1::StatefulSet;
using api::core::v1::PersistentVolumeClaim;
using api::core::v1::Pod;

/// The number at the end of "<set>-<ordinal>"; nullopt for a pod that is not named like the set's.
std::optional<int> ordinal_of(const StatefulSet& set, const std::string& pod_name);
inline int first_ordinal(const StatefulSet& set) { return set.spec.ordinals ? set.spec.ordinals->start : 0; }
std::string pod_name(const StatefulSet& set, int ordinal);

/// The pod of that ordinal, created from `pod_template`, which belongs to the revision named `revision`.
Pod make_pod(const StatefulSet& set, const api::core::v1::PodTemplateSpec& pod_template, const std::string& revision, int ordinal);
/// Whether the pod has the label of its name, by which a service selects a single pod.
bool has_identity(const Pod& pod);
/// Sets the labels of name and ordinal.
void set_identity(Pod& pod, int ordinal);
/// The claims of that ordinal, in order of spec.volumeClaimTemplates.
std::vector<PersistentVolumeClaim> make_claims(const StatefulSet& set, int ordinal);
/// The name of the revision from which the pod was created; "" if its label is missing.
std::string revision_of(const Pod& pod);

bool is_running_and_ready(const Pod& pod);

/// The claims of a set's pods: created before the pod, and owned by the object with which they are to be deleted, set or pod
/// (spec.persistentVolumeClaimRetentionPolicy). References must outlive it.
class Claims {
public:
    Claims(client::Client& client, client::EventRecorder& events, client::Informer<PersistentVolumeClaim>& claims)
        : client_(client), events_(events), claims_(claims) {}

    /// Creates missing claims. Error: that of the first that cannot be created; an event reports it.
    Task<> ensure(const StatefulSet& set, int ordinal);
    /// Whether a claim is about to be deleted with a pod of that ordinal that is gone already, so that a new one must not take it.
    bool belong_to_an_earlier_pod(const StatefulSet& set, int ordinal) const;
    /// Sets owners according to the policy. `pod` may be one that is about to be removed because the set is scaled down.
    Task<> set_owners(const StatefulSet& set, const Pod& pod, bool scaled_down);

private:
    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<PersistentVolumeClaim>& claims_;
};

}  // namespace porthole::controllers::stateful
