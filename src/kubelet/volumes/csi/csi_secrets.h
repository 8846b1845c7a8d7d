#pragma once
#include <map>
#include <memory>
#include <string>

#include "api/storage_v1.h"
#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

/// The data of a secret that a call needs; empty without a reference, which outlives the call. Error: with upstream's message; `field`:
/// upstream's name of the reference in it.
Task<std::map<std::string, std::string>> csi_secret(const schema::Box<core::SecretReference>& reference, const char* field,
                                                    const VolumeApi& api);

/// The tokens of the pod's service account that the driver requests, under the key that drivers expect; empty if it requests none.
Task<std::map<std::string, std::string>> csi_tokens(std::shared_ptr<const core::Pod> pod,
                                                    std::shared_ptr<const api::storage::v1::CSIDriver> driver, const VolumeApi& api);

}  // namespace porthole::kubelet
