#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/core_v1.h"

namespace porthole::apiserver {

/// Which secrets PersistentVolumes have for the nodes that mount them, and the claims that those volumes are bound to. Claims and secrets
/// are named "namespace/name".
class VolumeSecrets {
public:
    void put_volume(const std::string& name, const api::core::v1::PersistentVolume& volume);
    void remove_volume(const std::string& name);
    void clear_volumes();
    void put_claim(const std::string& key, const api::core::v1::PersistentVolumeClaim& claim);
    void remove_claim(const std::string& key) { claims_.erase(key); }
    void clear_claims() { claims_.clear(); }

    /// Whether a volume with the secret is bound to a claim for which `holds` is true.
    bool is_of_claim(const std::string& secret, const std::function<bool(const std::string& claim)>& holds) const;

private:
    struct Volume {
        std::string claim, claim_uid;
        std::vector<std::string> secrets;
    };
    struct Claim {
        std::string uid, volume;
    };
    /// The claim names its volume as its author likes, and the volume says whose it is: both have to agree.
    bool are_bound(const std::string& name, const Volume& volume) const;

    std::map<std::string, Volume> volumes_;                // those with secrets
    std::map<std::string, Claim> claims_;                  // those with volumes
    std::map<std::string, std::set<std::string>> having_;  // secret -> volumes
};

}  // namespace porthole::apiserver
