#pragma once
#include <map>
#include <memory>
#include <string>

#include "api/storage_v1.h"
#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

/// The data of a secret that goes with a call; empty without a reference, which outlives the call. Error: in upstream's words; `field`:
/// what upstream calls the reference there.
Task<std::map<std::string, std::string>> csi_secret(const schema::Box<core::SecretReference>& reference, const char* field,
                                                    VolumeServices& services);

/// The tokens of the pod's service account that the driver asks for, under the key that drivers know; empty where it asks for none.
Task<std::map<std::string, std::string>> csi_tokens(std::shared_ptr<const core::Pod> pod,
                                                    std::shared_ptr<const api::storage::v1::CSIDriver> driver, VolumeServices& services);

}  // namespace porthole::kubelet
