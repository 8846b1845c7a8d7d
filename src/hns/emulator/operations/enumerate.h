#pragma once
#include <string>
#include <vector>

#include "hns/emulator/model/model.h"
#include "hns/hns.h"

namespace porthole::hns::emulator {

/// The ids of a kind that a HostComputeQuery selects: all without a filter, none if nothing matches. A filter's members are compared with
/// the document's, names and ids in any case; `VirtualNetwork` is an endpoint's network. Error: Hresult::InvalidJson.
Result<std::vector<std::string>> enumerate(const Model& model, ObjectKind kind, const std::string& query);
/// The document of an object as the service shows it. Errors: the kind's NOT_FOUND.
Result<std::string> show(const Model& model, ObjectKind kind, const std::string& id);

}  // namespace porthole::hns::emulator
